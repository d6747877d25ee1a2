// What trainers run beside the model's arithmetic, in bytes of HBM: losses and optimizers an operation at a time, copies of
// sharded states, merges of ring attention; and the slowest of many GPUs.
#include <gtest/gtest.h>

#include "support/block_sums.hpp"
#include "support/sample_models.hpp"

namespace stepsim::trainer_kernels_test {
using namespace samples;

constexpr double kTokens = 2 * 4096;

double bytes_of(const std::vector<Item>& items, std::string_view name) {
  double sum = 0;
  for (const Item& item : items) {
    if (name_of(item) == name) sum += std::get<Kernel>(item.what).bytes.value;
  }
  return sum;
}

double all_bytes(const std::vector<Kernel>& kernels) {
  double sum = 0;
  for (const Kernel& kernel : kernels) sum += kernel.bytes.value;
  return sum;
}

// A cast of 2 + 4 bytes a logit, two reads of 4, three passes in place of 8; back one pass of 8 and a cast of 4 + 2.
TEST(Loss, AnOperationAtATime) {
  ParallelPlan plan = one_gpu(4096, 2);
  plan.kernels.loss = Kernels::Loss::separate;
  const BlockList blocks = make_blocks(llama_405b(), plan);
  const Block& head = blocks.block(blocks.size() - 1);
  const double logits = kTokens * 128256;
  double forward = 0;
  for (const char* name : {"loss cast", "loss maximum", "loss difference", "loss exponential", "loss sum", "loss quotient"}) {
    forward += bytes_of(head.forward, name);
  }
  EXPECT_DOUBLE_EQ(forward, logits * 38);
  EXPECT_DOUBLE_EQ(bytes_of(head.backward, "loss gradient") + bytes_of(head.backward, "loss cast"), logits * 14);
  EXPECT_EQ(find(head.forward, "loss"), -1);
}

// BF16 weights and gradients, FP32 masters and moments: 2 + 16 + 8 + 2 in one pass. With masters: gradients of 4 bytes,
// clipping 8, copy 4. Separate: 22 passes of 4 bytes, clipping 8.
TEST(Optimizer, BytesOfAParameter) {
  ParallelPlan plan = one_gpu(4096, 2);
  plan.precision.gradients = Precision::bf16;
  EXPECT_DOUBLE_EQ(all_bytes(optimizer_kernels(1e6, plan)), 28e6);
  plan.kernels.optimizer = Kernels::Optimizer::masters;
  EXPECT_DOUBLE_EQ(all_bytes(optimizer_kernels(1e6, plan)), (30 + 8 + 4) * 1e6);
  plan.kernels.optimizer = Kernels::Optimizer::separate;
  EXPECT_DOUBLE_EQ(all_bytes(optimizer_kernels(1e6, plan)), (88 + 8) * 1e6);
  plan.clip_gradients = false;
  EXPECT_DOUBLE_EQ(all_bytes(optimizer_kernels(1e6, plan)), 88e6);
}

// FSDP reducing in FP32: 4 + 6 + 8 bytes a parameter; in BF16 nothing is cast: 4 + 4.
TEST(Shards, CopiesOfAFlatGradient) {
  ParallelPlan plan = one_gpu(4096, 2);
  plan.parallel.zero = 3;
  plan.kernels.shards = Kernels::Shards::flat;
  for (const auto& [reduce, each] : {std::pair{Precision::fp32, 18.0}, std::pair{Precision::bf16, 8.0}}) {
    plan.precision.reduce = reduce;
    const Block block = make_blocks(llama_405b(), plan).block(1);
    const double bytes = bytes_of(block.backward, "flatten gradients") + bytes_of(block.backward, "cast gradients") +
                         bytes_of(block.backward, "divide gradients");
    EXPECT_DOUBLE_EQ(bytes, each * block.parameters.dense);
  }
}

// FSDP2: parameters out of the buffer before both passes (2 + 2 bytes), gradients into one (2 + 4). Products write their
// gradients once and do not add them to anything.
TEST(Shards, CopiesParameterByParameter) {
  ParallelPlan plan = one_gpu(4096, 2);
  plan.parallel.zero = 3;
  const Block in_place = make_blocks(llama_405b(), plan).block(1);
  plan.kernels.shards = Kernels::Shards::by_parameter;
  const Block block = make_blocks(llama_405b(), plan).block(1);
  const double parameters = block.parameters.dense;
  EXPECT_DOUBLE_EQ(bytes_of(block.forward, "copy out parameters"), 4 * parameters);
  EXPECT_DOUBLE_EQ(bytes_of(block.backward, "copy out parameters"), 4 * parameters);
  EXPECT_DOUBLE_EQ(bytes_of(block.backward, "copy in gradients"), 6 * parameters);
  const double down = 16384.0 * 53248;  // the matrix: FP32 read and written, or BF16 written
  const auto weight_gradient = [](const Block& of) {
    return std::get<Kernel>(of.backward[find(of.backward, "down", Phase::weight_gradient)].what).bytes.value;
  };
  EXPECT_NEAR(weight_gradient(in_place) - weight_gradient(block), (8 - 2) * down, 1);
}

// Four steps: each adds its output, and back the queries' gradient and a quarter of keys' and values'.
TEST(RingAttention, MergesEachStep) {
  ParallelPlan plan = one_gpu(4096, 2);
  plan.parallel.context = 4;
  const Block block = make_blocks(llama_405b(), plan).block(1);
  const double tokens = kTokens / 4, queries = tokens * 16384 * 2, keys_values = kTokens * 8 * 256 * 2 / 4;
  EXPECT_DOUBLE_EQ(bytes_of(block.forward, "merge"), 4 * 3 * queries);
  EXPECT_DOUBLE_EQ(bytes_of(block.backward, "merge"), 4 * 3 * (queries + keys_values));
  EXPECT_EQ(find(make_blocks(llama_405b(), one_gpu(4096, 2)).block(1).forward, "merge"), -1);
}

// Llama's products in line: queries, keys, values, output, gate, up, down; the second, fourth and sixth run again.
TEST(Recompute, EverySecondProduct) {
  ParallelPlan plan = one_gpu(4096, 2);
  const double none = flops_of(make_blocks(llama_405b(), plan).block(1).backward).flops;
  plan.recompute.modules = {Module::alternate};
  const double more = flops_of(make_blocks(llama_405b(), plan).block(1).backward).flops - none;
  EXPECT_DOUBLE_EQ(more, 2 * kTokens * 16384 * (8 * 128 + 16384 + 53248.0));
}

Gpu a_gpu(Rates rates) {
  Gpu gpu;
  gpu.rates = rates;
  gpu.spread = 0.01;
  return gpu;
}

// Largest of two standard normal values: 1/sqrt(pi) = 0.564; of 1000: 3.241 (Tippett's table). Blom's approximation is
// within 5 % of the first and 1 % of the second.
TEST(SlowestOf, ManyGpus) {
  EXPECT_DOUBLE_EQ(slowest_of(a_gpu(Rates::calibrated), 1).compute_speed, 1);
  EXPECT_NEAR(slowest_of(a_gpu(Rates::calibrated), 2).compute_speed, 1 - 0.01 * 0.564, 0.0003);
  EXPECT_NEAR(slowest_of(a_gpu(Rates::calibrated), 1000).compute_speed, 1 - 0.01 * 3.241, 0.0003);
  EXPECT_DOUBLE_EQ(slowest_of(a_gpu(Rates::speed_of_light), 1000).compute_speed, 1);
}

}  // namespace stepsim::trainer_kernels_test
