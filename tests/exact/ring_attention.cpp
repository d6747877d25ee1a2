// Ring attention: keys and values move under compute.
#include <gtest/gtest.h>

#include "sim/simulate.hpp"
#include "support/shipped.hpp"

namespace stepsim::ring_attention_test {
double exposed_ring(const std::string& policy) {
  const Inputs in =
      testing::shipped("deepseek-v3-1f1b",
                       {"cluster.nodes=2", "model.layers=4", "plan.routing.max_nodes=0",
                        "plan.collectives.all_to_all=auto", "plan.parallel.expert=1", "plan.parallel.pipeline=1",
                        "plan.parallel.context=16", "plan.batch.global_sequences=1", "plan.batch.sequence_length=65536",
                        "plan.recompute=none", "plan.overlap.context=" + policy},
                       "llama-3.1-405b");
  Options options;
  options.elasticities = false;
  const Report report = simulate(in, options).report;
  double exposed = 0;
  for (const CollectiveRow& row : report.collectives) {
    if (row.name == "kv ring") exposed += row.exposed_s;
  }
  return exposed;
}

// A block of 4096 tokens: keys and values of 8 heads, 16.8 MB, 0.34 ms on a NIC; a step of attention, 4096 x 4096 x 4 x
// 16384 FLOPs by half, 0.73 ms at 758 TFLOP/s. Blocking, all of the ring is exposed; asynchronous, none of it.
TEST(RingAttention, MovesUnderCompute) {
  const double blocking = exposed_ring("blocking"), async = exposed_ring("async");
  EXPECT_GT(blocking, 0);
  EXPECT_LT(async, 1e-6 * blocking);
}

}  // namespace stepsim::ring_attention_test
