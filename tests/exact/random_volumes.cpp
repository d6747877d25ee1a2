// Bytes of every dimension, for random combinations of all of them, against closed forms written here independently.
// Seeds are printed on failure.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fmt/format.h>

#include <map>

#include "support/sanitized.hpp"
#include "support/shipped.hpp"
#include "workloads/step.hpp"

namespace stepsim::random_volumes_test {
template <class T>
T one_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

// A Llama-like model: h 512, 8 heads of 64, 4 key/value heads, FFN 1024; experts, if any, in every layer.
constexpr double kHidden = 512, kHeads = 8, kKv = 4, kHead = 64, kFfn = 1024, kVocabulary = 4096;
constexpr double kExperts = 16, kTopK = 2, kExpertFfn = 256;

struct Case {
  int tensor, context, expert, expert_tensor, pipeline, chunks, zero, layers, mbs;
  bool sequence, reshard, experts, shared, full;
  std::string schedule, context_method;
  int nodes, sequences;
  static constexpr int kLength = 512;

  int world() const { return nodes * 8; }
  int data() const { return world() / (tensor * context * pipeline); }
  double microbatches() const { return static_cast<double>(sequences) / data() / mbs; }
  double tokens() const { return static_cast<double>(mbs) * kLength / context; }  // of a rank and microbatch
};

Case random_case() {
  Case c;
  c.nodes = one_of<int>({1, 2, 4});
  c.tensor = one_of<int>({1, 2, 4});
  c.sequence = c.tensor > 1 && *rc::gen::arbitrary<bool>();
  c.context = one_of<int>({1, 2, 4});
  c.pipeline = one_of<int>({1, 2, 4});
  c.experts = *rc::gen::arbitrary<bool>();
  c.shared = c.experts && *rc::gen::arbitrary<bool>();
  c.expert = c.experts ? one_of<int>({1, 2, 4, 8}) : 1;
  c.expert_tensor = c.experts ? one_of<int>({1, 1, 2}) : 1;
  c.zero = *rc::gen::inRange(0, 4);
  c.reshard = *rc::gen::arbitrary<bool>();
  c.context_method = one_of<std::string>({"ring", "all_to_all", "all_gather"});
  c.full = *rc::gen::arbitrary<bool>();
  c.layers = *rc::gen::inRange(8, 11);
  c.mbs = one_of<int>({1, 2});
  c.sequences = 64;
  c.chunks = 1;
  c.schedule = one_of<std::string>({"1f1b", "gpipe", "interleaved", "zb-v", "dualpipe", "dualpipev"});
  if (c.zero == 3 && (c.schedule == "zb-v" || c.schedule.starts_with("dualpipe"))) c.schedule = "1f1b";
  if (c.schedule == "interleaved") c.chunks = 2;
  return c;
}

std::optional<Inputs> inputs_of(const Case& c) {
  std::vector<std::string> sets = {"model.hidden=512",
                                   "model.ffn=1024",
                                   "model.vocabulary=4096",
                                   "model.heads=8",
                                   "model.kv_heads=4",
                                   "model.head_dim=64",
                                   fmt::format("model.layers={}", c.layers),
                                   fmt::format("cluster.nodes={}", c.nodes),
                                   fmt::format("plan.parallel.tensor={}", c.tensor),
                                   fmt::format("plan.parallel.sequence={}", c.sequence),
                                   fmt::format("plan.parallel.context={}", c.context),
                                   "plan.parallel.context_method=" + c.context_method,
                                   fmt::format("plan.parallel.expert={}", c.expert),
                                   fmt::format("plan.parallel.expert_tensor={}", c.expert_tensor),
                                   fmt::format("plan.parallel.pipeline={}", c.pipeline),
                                   fmt::format("plan.parallel.virtual_stages={}", c.chunks),
                                   fmt::format("plan.parallel.zero={}", c.zero),
                                   fmt::format("plan.parallel.reshard_after_forward={}", c.reshard),
                                   fmt::format("plan.batch.global_sequences={}", c.sequences),
                                   fmt::format("plan.batch.microbatch_sequences={}", c.mbs),
                                   "plan.batch.sequence_length=512",
                                   fmt::format("plan.schedule={}", c.schedule),
                                   fmt::format("plan.recompute={}", c.full ? "full" : "none"),
                                   "plan.routing.max_nodes=0",
                                   "plan.collectives.all_to_all=auto",
                                   "plan.precision.gather=bf16",
                                   "plan.precision.reduce=fp32",
                                   "plan.precision.dispatch=fp8",
                                   "plan.precision.combine=bf16"};
  if (c.experts) {
    sets.push_back(
        fmt::format("model.experts={{count: 16, top_k: 2, ffn: 256, shared: {}, shared_ffn: 256, dense_layers: 0, "
                    "every: 1, groups: 1}}",
                    c.shared ? 1 : 0));
  }
  try {
    return testing::shipped("deepseek-v3-1f1b", sets, "llama-3.1-405b");
  } catch (const InputError& e) {
    RC_LOG() << e.what() << "\n";
    return std::nullopt;
  }
}

using Sums = std::map<std::string, double>;

// Every collective's payload, as sim/collective/algorithm.hpp defines it, summed over all ranks and the step.
struct Closed {
  Sums sums;
  void add(const std::string& what, double bytes) {
    if (bytes > 0) sums[what] += bytes;
  }
};

// Megatron-LM: a layer has two gathers and two scatters forward (two all-reduces without sequence parallelism), as many
// scatters backward and twice the gathers; a full recompute repeats the forward ones. Routed experts work on what a
// tensor rank holds: without sequence parallelism the slices are joined again afterwards.
void tensor(const Case& c, double calls, Closed& closed) {
  if (c.tensor == 1) return;
  const double row = c.tokens() * kHidden * 2, again = c.full ? 1 : 0;
  const double dense = 1 + (!c.experts || c.shared ? 1 : 0);  // attention, and an FFN that is cut by tensor
  if (c.sequence) {
    closed.add("tensor all_gather", calls * row * (c.layers * dense * (1 + 2 + again) + 1 + 2));
    closed.add("tensor reduce_scatter", calls * row * (c.layers * dense * (1 + 1 + again) + 1 + 1));
  } else {
    closed.add("tensor all_reduce", calls * row * (c.layers * dense * (1 + 1 + again) + 1 + 1));
    closed.add("tensor all_gather", c.experts ? calls * row * c.layers * (1 + 1 + again) : 0);
  }
  closed.add("tensor all_reduce", calls * c.tokens() * 3 * 4);  // loss: maximum, target, sum of FP32
}

// Ring: the other ranks' keys and values come once a pass, and their gradients go all the way round. All-to-all:
// queries, keys, values there and the output back. All-gather: all keys and values once a pass, their gradients' sums once.
void context(const Case& c, double calls, Closed& closed) {
  if (c.context == 1) return;
  const double again = c.full ? 1 : 0, kv = c.tokens() * kKv / c.tensor * kHead * 2,
               q = c.tokens() * kHeads / c.tensor * kHead * 2;
  if (c.context_method == "all_gather") {
    closed.add("context all_gather", calls * c.layers * 2 * kv * c.context * (2 + again));
    closed.add("context reduce_scatter", calls * c.layers * 2 * kv * c.context);
  } else if (c.context_method == "ring") {
    closed.add("context shift", calls * c.layers * 2 * kv * ((c.context - 1) * (2 + again) + c.context));
  } else {
    closed.add("context all_to_all", calls * c.layers * (2 * q + 2 * kv) * (2 + again));
  }
}

// A copy of each token a tensor rank routes, FP8 with a scale an 128 elements there, BF16 back; expert-tensor ranks
// gather and scatter what arrived.
void expert(const Case& c, double calls, Closed& closed) {
  if (!c.experts) return;
  const double there = kHidden + kHidden / 128 * 4, back = 2 * kHidden, passes = c.full ? 3 : 2;
  const double routed = c.tokens() / c.tensor;
  if (c.expert > 1) closed.add("expert all_to_all", calls * c.layers * passes * routed * (there + back));
  if (c.expert_tensor > 1) {
    const double rows = routed * (c.expert > 1 ? kTopK : 1) * c.expert_tensor;
    closed.add("expert all_gather", calls * c.layers * passes * rows * there);
    closed.add("expert reduce_scatter", calls * c.layers * passes * rows * back);
  }
}

// Activations and their gradients across each boundary between ranks, counted at both ends.
void pipeline(const Case& c, double calls, Closed& closed) {
  double boundaries = c.pipeline * c.chunks - 1;
  if (c.schedule == "zb-v" || c.schedule == "dualpipev")
    boundaries = 2 * c.pipeline - 2;  // the V's tip is inside a rank
  closed.add("pipeline point_to_point",
             calls * boundaries * 2 * 2 * c.tokens() * kHidden * 2 / (c.sequence ? c.tensor : 1));
}

// Parameters a tensor rank of each stage holds, all stages together.
void states(const Case& c, Closed& closed) {
  const double attention = kHidden * (kHeads + 2 * kKv) * kHead + kHeads * kHead * kHidden;
  double dense = c.layers * (attention / c.tensor + 2 * kHidden) + 2 * kVocabulary * kHidden / c.tensor + kHidden;
  double routed = 0;
  if (c.experts) {
    dense += c.layers * (kExperts * kHidden + (c.shared ? 3 * kHidden * kExpertFfn / c.tensor : 0));
    routed = c.layers * kExperts / c.expert * 3 * kHidden * kExpertFfn / c.expert_tensor;
  } else {
    dense += c.layers * 3 * kHidden * kFfn / c.tensor;
  }
  const double copies = c.schedule == "dualpipe" ? 2 : 1;
  const double ranks = static_cast<double>(c.tensor) * c.context * c.data() * copies;
  const double dense_replicas = static_cast<double>(c.context) * c.data() * copies;
  const double expert_replicas = ranks / (c.expert * c.expert_tensor);
  const double held = ranks * ((dense_replicas > 1 ? dense : 0) + (expert_replicas > 1 ? routed : 0));
  if (c.zero == 0) return closed.add("reduce all_reduce", held * 4);
  const double m = c.microbatches();
  closed.add("reduce reduce_scatter", held * 4 * (c.zero >= 2 && c.pipeline == 1 ? m : 1));
  double gathers = 1;
  if (c.zero == 3) gathers = c.reshard ? 2 * m : c.pipeline == 1 ? m : 1;
  closed.add("gather all_gather", held * 2 * gathers);
}

// After the last microbatch: gradients that tensor ranks have only for their own rows (norms with sequence parallelism,
// routers always), FP32; and one FP32 number of the gradients' norm among the ranks that hold different parts of it.
void ends(const Case& c, Closed& closed) {
  if (c.tensor > 1) {
    const double norms = c.sequence ? (2 * c.layers + 1) * kHidden : 0, routers = c.experts ? c.layers * kExperts * kHidden : 0;
    const double copies = c.schedule == "dualpipe" ? 2 : 1;
    closed.add("tensor all_reduce", (norms + routers) * 4 * c.world() / c.pipeline * copies);
  }
  const bool replicas_differ = c.zero > 0 || c.expert * c.expert_tensor > c.tensor;
  const int parts = replicas_differ ? c.world() : c.tensor * c.pipeline;
  if (parts > 1) closed.add("reduce all_reduce", 4.0 * c.world());
}

Sums closed_form(const Case& c) {
  Closed closed;
  const double calls = static_cast<double>(c.tensor) * c.context * c.data() * c.microbatches();
  tensor(c, calls, closed);
  context(c, calls, closed);
  expert(c, calls, closed);
  pipeline(c, calls, closed);
  states(c, closed);
  ends(c, closed);
  return closed.sums;
}

Sums simulated(const Inputs& in) {
  const Step step = make_step(in.model, in.cluster, in.plan, Detail::aggregate);
  Sums sums;
  for (const Rank& rank : step.graph.ranks) {
    for (const OpView op : step.graph.programs[rank.program].ops) {
      if (op.kind != OpKind::transfer) continue;
      const Group& group = step.graph.groups[rank.slots[op.slot]];
      sums[std::string(to_text(op.tags.dimension)) + " " + group.patterns[op.pattern].operation] += op.payload_bytes;
    }
  }
  return sums;
}

TEST(RandomVolumes, EveryDimensionMatchesItsClosedForm) {
  int ran = 0;
  EXPECT_TRUE(rc::check("bytes by dimension", [&ran] {
    const Case c = random_case();
    RC_PRE(c.world() % (c.tensor * c.context * c.pipeline) == 0);
    const std::optional<Inputs> in = inputs_of(c);
    RC_PRE(in.has_value());
    const Sums expected = closed_form(c), found = simulated(*in);
    RC_LOG() << fmt::format("T{} C{} E{} ET{} P{} zero{} {} sequence {} full {}", c.tensor, c.context, c.expert,
                            c.expert_tensor, c.pipeline, c.zero, c.schedule, c.sequence, c.full)
             << "\n";
    for (const auto& [what, bytes] : expected) {
      RC_LOG() << fmt::format("{}: {} expected\n", what, bytes);
      RC_ASSERT(found.contains(what));
      RC_LOG() << fmt::format("{}: {} found\n", what, found.at(what));
      RC_ASSERT(std::abs(found.at(what) - bytes) <= 1e-9 * bytes);
    }
    for (const auto& [what, bytes] : found) {
      RC_LOG() << what << " found\n";
      RC_ASSERT(expected.contains(what));
    }
    ++ran;
  }));
  EXPECT_GT(ran, testing::kSanitized ? 20 : 50);
}

}  // namespace stepsim::random_volumes_test
