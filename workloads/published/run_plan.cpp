// The plan's columns: degrees, batch, sharding, precision, recompute, schedule.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workloads/published/run_facts.hpp"
#include "workloads/published/translation.hpp"
#include "workloads/published/wording.hpp"

namespace stepsim {
namespace {

void tell_rest(std::string_view column, const Wording& words, Translation& out) {
  if (const std::string rest = words.rest(); !rest.empty()) {
    out.not_understood.push_back(fmt::format("{}: {}", column, rest));
  }
}

// "yes", "no", or nothing said (no). False when it is neither.
bool yes_or_no(std::string_view column, const std::string& text, bool& into, Translation& out) {
  Wording words(text);
  if (words.empty()) return true;
  into = words.take("yes");
  if (into || words.take("no")) return true;
  out.problems.push_back(fmt::format("{}: \"{}\" is neither yes nor no", column, text));
  return false;
}

void degrees(const PublishedRun& run, const RunFacts& facts, Translation& out) {
  Parallel& p = out.plan.parallel;
  p.tensor = run.tensor;
  p.pipeline = run.pipeline;
  p.context = run.context;
  p.expert = run.expert;
  // Megatron-Core's default: experts are cut as the rest of the layer is.
  p.expert_tensor = run.expert_tensor > 0 || run.experts == 0 ? std::max(1, run.expert_tensor) : run.tensor;
  if (run.experts == 0) p.expert_tensor = 1;
  yes_or_no("SP", run.sequence_parallel, p.sequence, out);
  if (p.tensor == 1) p.sequence = false;
  if (p.context > 1) {
    p.context_method = facts.context_all_to_all ? Parallel::ContextMethod::all_to_all : Parallel::ContextMethod::ring;
    if (!facts.context_all_to_all) out.assume("context-method");
  }
  out.plan.batch = {run.global_batch, run.microbatch, run.sequence_length};
  // Transformer Engine's userbuffers exchange one rank's part at a time.
  if (facts.tensor_overlap && p.sequence) {
    out.plan.overlap.tensor = Overlap::Policy::async;
    out.plan.overlap.tensor_chunks = p.tensor;
  }
  if (p.tensor > 1 && !facts.tensor_overlap_stated) out.assume("tensor-overlap");
  if (facts.packed_rows && p.expert > 1) out.plan.collectives.all_to_all = "pairwise";
  if (facts.expert_overlap && p.expert > 1) out.plan.overlap.expert = Overlap::Policy::async;
  if (run.experts > 0) out.assume("balanced-experts");
  if (facts.multi_token_prediction) {
    out.model.prediction_layers = 1;
    out.plan.multi_token_prediction = true;
  }
}

void schedule(const PublishedRun& run, Translation& out) {
  Parallel& p = out.plan.parallel;
  Wording words(run.schedule);
  const bool interleaved = words.take("interleaved");
  const bool named = words.take("1f1b") || words.take("none") || words.empty();
  words.take("(deepspeed pp)");
  if (!named && !interleaved && p.pipeline > 1) {
    const ScheduleKind* kind = find_schedule(run.schedule);
    if (kind == nullptr) {
      out.problems.push_back(fmt::format("schedule: \"{}\" is none of stepsim list schedules", run.schedule));
      return;
    }
    out.plan.schedule = run.schedule;
  } else {
    tell_rest("schedule", words, out);
  }
  if (p.pipeline == 1) return;
  p.virtual_stages = std::max(1, run.virtual_stages);
  if (interleaved && run.virtual_stages == 0 && run.layers % p.pipeline == 0) {
    p.virtual_stages = run.layers / p.pipeline;
    out.assume("virtual-stages");
  }
  if (named || interleaved) out.plan.schedule = p.virtual_stages > 1 ? "interleaved-1f1b" : "1f1b";
}

// Layers of each stage. Trainers give every stage as many, and its ends the embedding and the head on top. Where layers do
// not divide, or where the source says so, the embedding and the head count as a layer each.
void stage_layers(const PublishedRun& run, const RunFacts& facts, Translation& out) {
  const int stages = out.plan.parallel.pipeline * out.plan.parallel.virtual_stages;
  if (stages == 1 || run.layers < stages) return;
  const bool uneven = run.layers % stages != 0;
  // NVIDIA's recipe for DeepSeek-V3 fills stages from the front; the last has what is left (Megatron-Bridge,
  // recipes/deepseek/deepseek_v3.py: with 16 stages 4 layers each, and 1).
  const int full = (run.layers + stages - 1) / stages, left = run.layers - full * (stages - 1);
  if (uneven && left > 0 && run.model == "deepseek-v3" && run.source.starts_with("Megatron-Bridge")) {
    out.plan.stage_layers.assign(static_cast<std::size_t>(stages), full);
    out.plan.stage_layers.back() = left;
    return;
  }
  if (uneven && !facts.embedding_counts) out.assume("uneven-layers");
  const int counted = run.layers + (uneven || facts.embedding_counts ? 2 : 0);
  std::vector<int>& of_stage = out.plan.stage_layers;
  for (int s = 0; s < stages; ++s) of_stage.push_back(counted / stages + (s < counted % stages ? 1 : 0));
  if (counted > run.layers) {
    --of_stage.front();
    --of_stage.back();
  }
}

struct Sharding {
  std::string_view words;
  int zero;
};
// The first that stands in the text counts.
constexpr std::array<Sharding, 19> kShardings{{{"zero-0", 0},
                                               {"no zero", 0},
                                               {"zero-1", 1},
                                               {"zero-2", 2},
                                               {"zero-3", 3},
                                               {"zero 1", 1},
                                               {"zero 2", 2},
                                               {"zero 3", 3},
                                               {"zero1", 1},
                                               {"zero2", 2},
                                               {"zero3", 3},
                                               {"shard_grad_op", 2},
                                               {"no_shard", 0},
                                               {"hsdp", 3},
                                               {"fsdp", 3},
                                               {"distributed optimizer", 1},
                                               {"distributed fused adam", 1},
                                               {"ddp", 0},
                                               {"none", 0}}};

// FSDP keeps master weights as its shards and gathers them in the format of the arithmetic.
void fully_sharded(Wording& words, Translation& out) {
  Parallel& p = out.plan.parallel;
  Precisions& precision = out.plan.precision;
  precision.master = Precision::none;
  precision.weights = Precision::fp32;
  if (const auto group = words.take_number_after("group ")) p.zero_group = static_cast<int>(*group);
  if (words.take("hybrid") || words.take("hsdp")) p.zero_group = -1;
  if (words.take("mixed precision pure")) precision.reduce = Precision::bf16;
  words.take("mixed precision default");
  for (const char* known : {"full_shard", "fsdp2", "fsdp", "megatron-", "(", ")"}) words.take(known);
}

void overlap(Wording& words, const RunFacts& facts, bool deepspeed, Translation& out) {
  Overlap& o = out.plan.overlap;
  const int zero = out.plan.parallel.zero;
  const bool none = words.take("no overlap") || words.take("not overlapped") || words.take("bucket=false") || facts.no_reduce_overlap;
  const bool stated = words.take("overlapped") || words.take("overlap") || facts.reduce_overlap;
  bool beside = zero >= 3 || (stated && !none);
  if (!none && !stated && zero <= 2) {
    if (out.plan.parallel.data > 1) out.assume(zero == 0 ? "ddp-overlap" : deepspeed ? "deepspeed-zero" : "overlap");
    beside = zero == 0 || !deepspeed;
  }
  o.reduce = beside ? Overlap::Reduce::async : Overlap::Reduce::at_end;
  o.parameters = beside && !facts.only_reduce_overlap ? Overlap::Parameters::async : Overlap::Parameters::at_end;
}

void sharding(const PublishedRun& run, const RunFacts& facts, Translation& out) {
  Wording words(run.shard);
  Parallel& p = out.plan.parallel;
  p.data = run.data;
  const auto at = std::find_if(kShardings.begin(), kShardings.end(), [&](const Sharding& s) { return Wording(run.shard).take(s.words); });
  if (at == kShardings.end() && !words.empty()) {
    out.problems.push_back(fmt::format("shard: \"{}\" names no known sharding (ZeRO-0 to 3, DDP, FSDP, distributed optimizer)", run.shard));
    return;
  }
  if (at == kShardings.end()) {
    out.assume("sharding");
  } else {
    words.take(at->words);
  }
  p.zero = at == kShardings.end() ? 1 : at->zero;
  const bool deepspeed = words.take("deepspeed") || Wording(run.schedule).take("deepspeed");
  if (words.take("bf16 grad reduce")) out.plan.precision.gradients = out.plan.precision.reduce = Precision::bf16;
  if (p.zero == 3) fully_sharded(words, out);
  overlap(words, facts, deepspeed, out);
  for (const char* known : {"distributed optimizer", "grad+param sync", "rs/ag", "dp=1", "use_gradient_", "no zero", "optimizer", "distributed fused adam", "ddp"}) words.take(known);
  tell_rest("shard", words, out);
}

// Formats of arithmetic and of what follows from it; sharding() may say more of gradients.
void precision(const PublishedRun& run, const RunFacts& facts, Translation& out) {
  Wording words(run.precision);
  Precisions& p = out.plan.precision;
  const bool fp8_parameters = words.take("params fp8 all-gather") || words.take("params fp8") || facts.fp8_parameters;
  const bool fp32_gradients = words.take("fp32 grad accumulation");
  const bool fp8 = words.take("mxfp8") || words.take("fp8");
  const bool fp16 = words.take("fp16");
  if (!fp8 && !fp16 && !words.take("bf16")) {
    out.problems.push_back(fmt::format("precision: \"{}\" is none of fp8, fp16, bf16", run.precision));
    return;
  }
  const Precision half = fp16 ? Precision::fp16 : Precision::bf16;
  for (Precision* format : {&p.linear, &p.attention, &p.head, &p.weights, &p.activations, &p.gather, &p.dispatch, &p.combine, &p.pipeline}) *format = half;
  if (fp8) p.linear = p.activations = Precision::fp8;
  if (fp8_parameters) p.weights = p.gather = Precision::fp8;
  if (fp16 && !fp32_gradients) {
    p.gradients = p.reduce = Precision::fp16;
    out.assume("fp16-gradients");
  }
  for (const char* known : {"amp_", "(te hybrid, delayed scaling)", "hybrid, delayed scaling", "current scaling", "-cs", "-mx",
                            "block/mx", "parenthesised", "bf16"}) words.take(known);
  tell_rest("precision", words, out);
}

void recompute(const PublishedRun& run, Translation& out) {
  Wording words(run.recompute);
  Recompute& r = out.plan.recompute;
  const bool stated = !words.empty() && !words.take("not stated");
  const bool modules = words.take("selective modules:");
  if (modules && words.take("mla_up_proj")) r.modules.insert(Module::mla_up);
  if (modules && words.take("mlp")) r.modules.insert(Module::ffn);
  if (modules && words.take("core_attn")) r.modules.insert(Module::attention);
  if (modules && words.take("layernorm")) r.modules.insert(Module::norm);
  if (modules && words.take("moe_act")) r.modules.insert(Module::swiglu);
  if (modules && words.take("moe")) r.modules.insert(Module::experts);
  if (!stated) {
    out.assume("recompute-unstated");
  } else if (modules) {
    if (r.modules.empty()) out.problems.push_back(fmt::format("recompute: no known module in \"{}\"", run.recompute));
  } else if (words.take("none")) {
    return;  // what follows is why ("full/block/num-layers 0")
  } else if (words.take("every other layer")) {
    words.take("selective");
    r.full = true;
    r.layers = (run.layers + 1) / 2;
  } else if (words.take("selective (op)")) {
    // Every second matrix product, and all that is cheap (torchtitan's per-op policy).
    r.modules = {Module::norm, Module::swiglu, Module::alternate};
    out.assume("selective-op");
  } else if (words.take("selective")) {
    words.take("attention core");
    r.modules.insert(Module::attention);
  } else if (const auto layers = words.take_number_after("full ")) {
    words.take("layers");
    r.full = true;
    r.layers = static_cast<int>(*layers);
  } else if (words.take("full")) {
    r.full = true;
    for (const char* known : {"every layer, uniform", "use_checkpoint=true", "activation checkpointing; assumed from repo default of that time"}) words.take(known);
  } else {
    out.problems.push_back(fmt::format("recompute: \"{}\" is none of none, full, selective", run.recompute));
  }
  tell_rest("recompute", words, out);
}

// Which attention and elementwise kernels the trainer ran.
void kernels(const PublishedRun& run, Translation& out) {
  Kernels& k = out.plan.kernels;
  Wording words(run.flash_attention);
  if (words.take("no")) {
    k.attention = Kernels::Attention::unfused;
    k.dropout = true;
    out.assume("dropout");
    words.take("(fused softmax)");
    words.take("(megatron-deepspeed fused softmax)");
  } else if (!words.empty() && !words.take("yes")) {
    out.problems.push_back(fmt::format("flash_attn: \"{}\" is neither yes nor no", run.flash_attention));
  } else if (words.take("(attn_impl flash/triton default)")) {
    k.attention = Kernels::Attention::triton;
    out.assume("triton");
  } else if (!words.take("(te/cudnn)")) {
    if (words.take("(sdpa)")) {
      k.fused = false;
      out.assume("eager");
    } else {
      out.assume("flash2");
    }
    // On other GPUs it is the best there is: their tables were measured with it.
    const std::string& cluster = out.cluster.shipped;
    const bool hopper = cluster.find("h100") != std::string::npos || cluster.find("h200") != std::string::npos ||
                        cluster.find("h800") != std::string::npos;
    if (hopper) k.attention = Kernels::Attention::flash2;
  }
  tell_rest("flash_attn", words, out);
}

// Megatron-LM and DeepSpeed wait for a message before they compute on. Only Megatron-Core's interleaved schedule, as its
// users run it since Transformer Engine, lets messages move beside compute (overlap_p2p_comm).
void messages(const PublishedRun& run, Translation& out) {
  if (run.pipeline == 1) return;
  const bool core = Wording(run.flash_attention).take("yes") && out.plan.parallel.virtual_stages > 1;
  if (core) return;
  out.plan.overlap.pipeline = Overlap::Policy::blocking;
  out.assume("blocking-messages");
}

// As DeepSeek-V3's report (section 3.2.2) gives its own communication kernels.
constexpr int kCommunicationSms = 20;

// What the trainers' optimizers, losses and sharded states cost beside the arithmetic.
void framework(const PublishedRun& run, const RunFacts& facts, Translation& out) {
  out.plan.sms = {kCommunicationSms, SmUse::Sharing::shared};
  out.assume("communication-sms");
  Kernels& k = out.plan.kernels;
  const bool sharded = out.plan.parallel.zero == 3;
  const bool composer = Wording(run.shard).take("mixed precision");
  if (!facts.fused_loss && !composer) {
    k.loss = Kernels::Loss::separate;
    out.assume("separate-loss");
  }
  if (!sharded) {
    k.optimizer = Kernels::Optimizer::masters;
    out.assume("masters");
  } else if (composer) {
    k.optimizer = Kernels::Optimizer::separate;
    out.assume("separate-adam");
  }
  if (sharded && out.plan.parallel.pipeline == 1) {
    k.shards = composer ? Kernels::Shards::flat : Kernels::Shards::by_parameter;
    out.assume(composer ? "flat-shards" : "copied-shards");
  }
}

}  // namespace

void translate_plan(const PublishedRun& run, Translation& out) {
  const RunFacts facts = facts_of(run.notes, out);
  out.plan.name = run.id;
  out.plan.rates = Rates::calibrated;
  degrees(run, facts, out);
  schedule(run, out);
  stage_layers(run, facts, out);
  precision(run, facts, out);
  sharding(run, facts, out);
  recompute(run, out);
  kernels(run, out);
  framework(run, facts, out);
  messages(run, out);
}

}  // namespace stepsim
