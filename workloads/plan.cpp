#include "workloads/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/plan_reading.hpp"

namespace stepsim {
namespace {

using Texts = std::vector<std::string_view>;

void read_batch(Fields& top, Batch& batch) {
  Fields f = top.mapping("batch", required());
  f.integer64("global_sequences", batch.global_sequences, required(), 1);
  f.integer("microbatch_sequences", batch.microbatch_sequences, or_default("one sequence a microbatch"), 1, kMostRanks);
  f.integer("sequence_length", batch.sequence_length, required(), 1, 100'000'000);
  f.finish();
}

Overlap::Policy read_policy(Fields& f, std::string_view key, Overlap::Policy policy, const Texts& allowed,
                            std::string_view why) {
  std::string text = policy == Overlap::Policy::blocking ? "blocking" : "async";
  f.choice(key, text, allowed, or_default(why));
  if (text == "paired") return Overlap::Policy::paired;
  return text == "async" ? Overlap::Policy::async : Overlap::Policy::blocking;
}

void read_overlap(Fields& top, Overlap& o) {
  Fields f = top.mapping("overlap", or_default("what most trainers do"));
  f.integer("gather_prefetch", o.gather_prefetch, or_default("the next block is gathered while this one computes"), 0,
            10'000);
  std::string reduce = "async";
  f.choice("reduce", reduce, {"async", "at_end"}, or_default("gradients are reduced beside the backward pass"));
  if (reduce == "at_end") o.reduce = Overlap::Reduce::at_end;
  std::string parameters = "at_end";
  f.choice("parameters", parameters, {"at_end", "async"}, or_default("updated parameters are gathered after the optimizer"));
  if (parameters == "async") o.parameters = Overlap::Parameters::async;
  const Texts two{"blocking", "async"};
  o.tensor = read_policy(f, "tensor", o.tensor, two, "the next kernel needs the result");
  f.integer("tensor_chunks", o.tensor_chunks, or_default("GEMMs and their collectives are not cut"), 1, 64);
  o.context = read_policy(f, "context", o.context, two, "ring attention passes keys and values under compute");
  o.expert = read_policy(f, "expert", o.expert, {"blocking", "async", "paired"}, "the experts need their tokens");
  o.pipeline = read_policy(f, "pipeline", o.pipeline, two, "messages between stages move beside compute");
  f.finish();
}

void read_collectives(Fields& top, Algorithms& a) {
  const Need need = or_default("picked by the shape of the group");
  Fields f = top.mapping("collectives", need);
  f.text("all_gather", a.all_gather, need);
  f.text("reduce_scatter", a.reduce_scatter, need);
  f.text("all_reduce", a.all_reduce, need);
  f.text("all_to_all", a.all_to_all, need);
  f.finish();
}

// A word of the list, in the order of the enumeration.
template <class Choice>
void read_one_of(Fields& f, std::string_view key, Choice& choice, const std::vector<std::string_view>& words, std::string_view why) {
  std::string word(words[static_cast<std::size_t>(choice)]);
  f.choice(key, word, words, or_default(why));
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) choice = static_cast<Choice>(at - words.begin());
}

void read_kernels(Fields& top, Kernels& kernels) {
  Fields f = top.mapping("kernels", or_default("what most trainers run"));
  std::string elementwise = "fused";
  read_one_of(f, "attention", kernels.attention, attention_words, "the best flash attention the GPU has");
  f.choice("elementwise", elementwise, {"fused", "unfused"}, or_default("one kernel for a norm, an activation, a loss"));
  kernels.fused = elementwise == "fused";
  f.boolean("dropout", kernels.dropout, or_default("language models are trained without dropout"));
  read_one_of(f, "loss", kernels.loss, loss_words, "one pass over the logits forward, one backward");
  read_one_of(f, "optimizer", kernels.optimizer, optimizer_words, "one kernel reads the gradients and updates all");
  read_one_of(f, "shards", kernels.shards, shards_words, "sharded states are moved and not copied");
  f.finish();
}

void read_sms(Fields& top, SmUse& sms) {
  Fields f = top.mapping("sms", or_default("communication takes no SMs"));
  f.integer("communication", sms.communication, or_default("communication takes no SMs"));
  std::string policy = "partition";
  f.choice("policy", policy, {"partition", "shared"}, or_default("compute never uses the SMs of communication"));
  if (policy == "shared") sms.policy = SmUse::Sharing::shared;
  f.finish();
}

void read_memory(Fields& top, MemoryReserve& memory) {
  Fields f = top.mapping("memory", or_default("beside what the training program allocates"));
  f.size("context", memory.context, or_default("CUDA context and kernels' code (assumption)"));
  f.size("communicator", memory.communicator, or_default("measured on A100s: 544 to 688 MB (NCCL issue 964)"));
  f.number("fragmentation", memory.fragmentation, or_default("nothing is lost between blocks (assumption)"), 0, 1);
  f.finish();
}

void read_rates(Fields& f, Rates& rates) {
  std::string text = "speed_of_light";
  f.choice("rates", text, {"speed_of_light", "calibrated"}, or_default("one achieved rate a precision"));
  if (text == "calibrated") rates = Rates::calibrated;
}

}  // namespace

ParallelPlan read_plan(Reading& reading, const std::string& path, const std::vector<Override>& overrides) {
  ParallelPlan plan;
  std::optional<Fields> f = open_document(reading, path, overrides);
  if (!f) return plan;
  f->text("name", plan.name, required());
  read_parallel(*f, plan.parallel);
  read_batch(*f, plan.batch);
  read_schedule(reading, *f, plan.schedule, plan.passes);
  read_stage_layers(*f, plan.stage_layers);
  read_precisions(*f, plan.precision);
  read_recompute(*f, plan.recompute);
  read_kernels(*f, plan.kernels);
  f->boolean("multi_token_prediction", plan.multi_token_prediction, or_default("the next token alone"));
  f->boolean("clip_gradients", plan.clip_gradients, or_default("trainers clip by the norm of all gradients"));
  read_collectives(*f, plan.collectives);
  read_overlap(*f, plan.overlap);
  read_sms(*f, plan.sms);
  read_routing(reading, *f, plan.routing);
  read_memory(*f, plan.memory);
  read_rates(*f, plan.rates);
  f->finish();
  const Parallel& p = plan.parallel;
  if (p.zero >= 2 && !p.reduces_each_microbatch()) {
    reading.notes.push_back(fmt::format("ZeRO-{} with a pipeline: gradients are reduced once, after the last microbatch, and kept whole until "
                                        "then, as with ZeRO-1 (PyTorch's pipeline runtime does so)", p.zero));
  }
  return plan;
}

std::string_view to_text(Module module) {
  switch (module) {
    case Module::norm:
      return "norm";
    case Module::attention:
      return "attention";
    case Module::mla_up:
      return "mla_up";
    case Module::swiglu:
      return "swiglu";
    case Module::ffn:
      return "ffn";
    case Module::experts:
      return "experts";
    case Module::alternate:
      return "alternate";
  }
  return "";
}

std::string_view to_text(Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return "tensor";
    case Axis::context:
      return "context";
    case Axis::expert:
      return "expert";
    case Axis::data:
      return "data";
    case Axis::pipeline:
      return "pipeline";
  }
  return "";
}

}  // namespace stepsim
