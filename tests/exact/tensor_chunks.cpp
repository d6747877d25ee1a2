// Chunked overlap of tensor-parallel GEMMs with their collectives, against arithmetic.
#include <gtest/gtest.h>

#include "sim/engine/engine.hpp"
#include "sim/graph/fold.hpp"
#include "support/block_sums.hpp"
#include "support/sample_models.hpp"
#include "support/shipped.hpp"
#include "workloads/chunks.hpp"
#include "workloads/step.hpp"

namespace stepsim::tensor_chunks_test {
using namespace samples;

ParallelPlan tensor_plan(bool sequence) {
  ParallelPlan plan = one_gpu(4096, 2);
  plan.parallel.tensor = 8;
  plan.parallel.sequence = sequence;
  plan.overlap.tensor = Overlap::Policy::async;
  return plan;
}

struct Sums {
  double flops = 0, payload = 0, bytes = 0;
  int gemms = 0, calls = 0;
};
Sums sums_of(const std::vector<Item>& items) {
  Sums sums;
  for (const Item& item : items) {
    if (const Kernel* kernel = std::get_if<Kernel>(&item.what)) {
      sums.flops += kernel->flops.value;
      sums.bytes += kernel->bytes.value;
      sums.gemms += kernel->kind == KernelClass::gemm;
    } else {
      sums.payload += std::get<CollectiveCall>(item.what).payload.value;
      ++sums.calls;
    }
  }
  return sums;
}

// Forward of a dense layer: qkv and gate_up gather, o and down scatter: four GEMMs and four collectives become four
// times as many; each piece but the first reads its GEMM's weights (BF16) again. All else is the same.
TEST(TensorChunks, ForwardCutsEveryGemmWithItsCollective) {
  for (const bool sequence : {false, true}) {
    const Block whole = make_blocks(llama_405b(), tensor_plan(sequence)).block(1);
    const Block cut = chunk_tensor_collectives(whole, 4);
    const Sums before = sums_of(whole.forward), after = sums_of(cut.forward);
    const double h = 16384, qkv = h * (128 + 16) * 128 / 8, o = h * h / 8, gate_up = h * 2 * 53248 / 8,
                 down = h * 53248 / 8;
    EXPECT_NEAR(after.flops, before.flops, 1e-12 * before.flops);
    EXPECT_DOUBLE_EQ(after.payload, before.payload);
    // Without sequence parallelism nothing is gathered: only o and down are cut.
    EXPECT_EQ(after.gemms, sequence ? 16 : 2 + 8);
    EXPECT_EQ(after.calls, sequence ? 16 : 8);
    EXPECT_NEAR(after.bytes - before.bytes, 3 * 2 * (o + down + (sequence ? qkv + gate_up : 0)), 1e-6 * before.bytes);
  }
}

// Each piece of a gathered GEMM waits for its own piece and no later one; each piece of a product is reduced at once.
TEST(TensorChunks, PiecesWaitForTheirOwn) {
  const Block cut = chunk_tensor_collectives(make_blocks(llama_405b(), tensor_plan(true)).block(1), 2);
  std::vector<std::string> order;
  for (std::size_t i = 0; i < cut.forward.size(); ++i) {
    const Item& item = cut.forward[i];
    const CollectiveCall* call = std::get_if<CollectiveCall>(&item.what);
    std::string text(call ? call->name : std::get<Kernel>(item.what).name);
    for (const int need : item.needs) text += " " + std::to_string(need);
    order.push_back(text);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"attention norm",
                                             "attention input",
                                             "attention input",
                                             "qkv 1",
                                             "qkv 2",
                                             "rope",
                                             "core attention",
                                             "o",
                                             "attention output",
                                             "o",
                                             "attention output",
                                             "residual 10",
                                             "ffn norm",
                                             "ffn input",
                                             "ffn input",
                                             "gate_up 13",
                                             "gate_up 14",
                                             "swiglu",
                                             "down",
                                             "ffn output",
                                             "down",
                                             "ffn output",
                                             "residual 21"}));
}

// The gather for a weight gradient hides under the input gradient whole.
TEST(TensorChunks, WeightGradientsStayWhole) {
  const Block whole = make_blocks(llama_405b(), tensor_plan(true)).block(1);
  const Block cut = chunk_tensor_collectives(whole, 4);
  // Output gradient gathers and input gradient scatters of both halves are cut (4 of 6), and their four GEMMs.
  EXPECT_EQ(sums_of(cut.backward).calls, 4 * 4 + 2);
  EXPECT_EQ(sums_of(cut.backward).gemms, 4 * 4 + 4);
  EXPECT_DOUBLE_EQ(sums_of(cut.backward).payload, sums_of(whole.backward).payload);
}

// One column-parallel GEMM of compute time g behind a gather of time a, in c pieces: the pipeline of two stations takes
// a/c + g when multiplying is slower, a + g/c when gathering is.
double forward_seconds(int chunks, const std::string& nvlink_scale) {
  const Inputs in = testing::shipped(
      "deepseek-v3-1f1b",
      {"cluster.nodes=1", "model.layers=1", "plan.routing.max_nodes=0", "plan.collectives.all_to_all=auto",
       "plan.parallel.expert=1", "plan.parallel.pipeline=1", "plan.parallel.tensor=8", "plan.parallel.sequence=true",
       "plan.batch.global_sequences=1", "plan.recompute=none", "plan.precision.linear=bf16", "plan.sms.communication=0",
       "plan.overlap.tensor=async", "plan.overlap.tensor_chunks=" + std::to_string(chunks)},
      "llama-3.1-405b");
  ClusterSpec cluster = in.cluster;
  for (std::size_t l = 0; l < cluster.bandwidth.size(); ++l) cluster.bandwidth[l] *= std::stod(nvlink_scale);
  for (Seconds& latency : cluster.latency) latency = Seconds(0);
  const StepGraph graph = fold(make_step(in.model, cluster, in.plan, Detail::aggregate).graph).graph;
  const Timeline timeline = make_ideal_engine()->run(graph);
  // From the start of the FFN's first gather to the end of its gate_up GEMM.
  double begin = -1, end = 0;
  const Program& program = graph.programs[graph.ranks[0].program];
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    const OpView o = program.ops[op];
    if (o.tags.phase != Phase::forward || o.tags.layer != 1) continue;
    if (o.kind == OpKind::transfer && graph.labels[o.tags.label] == "ffn input" && begin < 0)
      begin = timeline.spans[0][op].start;
    if (o.kind == OpKind::transfer && graph.labels[o.tags.label] == "ffn output" && end == 0)
      end = timeline.spans[0][op].start;
  }
  return end - begin;  // gather, gate_up, swiglu, first piece of down
}

TEST(TensorChunks, TwoStationPipeline) {
  // Llama 3.1 405B, 4096 tokens over 8 GPUs, worked out by hand at 758 TFLOP/s, 2970 GB/s and 160 GB/s:
  const double tokens = 4096, h = 16384, width = 53248.0 / 8;
  const double gather = tokens * h * 2 * 7 / 8 / 160e9;
  const auto gemm = [](double m, double n, double k) {
    return std::max(2 * m * n * k / 758e12, 2 * (m * k + k * n + m * n) / 2970e9);
  };
  const double swiglu = tokens * 3 * width * 2 / 2970e9;
  for (const int c : {1, 2, 4}) {
    const double g = gemm(tokens / c, 2 * width, h), a = gather / c;
    ASSERT_GT(g, a);
    const double expected = a + c * g + swiglu + gemm(tokens / c, h, width);
    EXPECT_NEAR(forward_seconds(c, "1"), expected, 1e-9 * expected) << c;
    const double slow = 20 * a;  // wires a twentieth as fast
    ASSERT_GT(slow, g);
    const double bound = c * slow + g + swiglu + gemm(tokens / c, h, width);
    EXPECT_NEAR(forward_seconds(c, "0.05"), bound, 1e-9 * bound) << c;
  }
}

TEST(TensorChunks, RefusedWhereTheyHideNothingOrDoNotDivide) {
  const auto reasons = [](const std::string& policy, int chunks) {
    try {
      testing::shipped("gpt-3-175b-pipeline", {"cluster.nodes=16", "plan.overlap.tensor=" + policy,
                                               "plan.overlap.tensor_chunks=" + std::to_string(chunks)});
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(reasons("async", 4), "");
  EXPECT_NE(reasons("blocking", 4).find("write overlap.tensor: async"), std::string::npos);
  EXPECT_NE(reasons("async", 7).find("nearest: 4, 8"), std::string::npos);
}

}  // namespace stepsim::tensor_chunks_test
