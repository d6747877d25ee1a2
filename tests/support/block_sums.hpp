// Sums over the items of blocks, for tests.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "workloads/layers.hpp"

namespace stepsim::samples {

inline ParallelPlan one_gpu(int sequence_length, int sequences = 1) {
  ParallelPlan plan;
  plan.batch = {.global_sequences = sequences, .microbatch_sequences = sequences, .sequence_length = sequence_length};
  return plan;
}

struct Sum {
  double flops = 0, model_flops = 0;
};

inline Sum flops_of(const std::vector<Item>& items) {
  Sum sum;
  for (const Item& item : items) {
    if (const Kernel* kernel = std::get_if<Kernel>(&item.what)) {
      sum.flops += kernel->flops.value;
      sum.model_flops += kernel->model_flops.value;
    }
  }
  return sum;
}

// One GPU, forward and backward of every block.
inline Sum flops_of(const BlockList& blocks) {
  Sum sum;
  for (int i = 0; i < blocks.size(); ++i) {
    for (const std::vector<Item>* items : {&blocks.block(i).forward, &blocks.block(i).backward}) {
      const Sum part = flops_of(*items);
      sum.flops += part.flops;
      sum.model_flops += part.model_flops;
    }
  }
  return sum;
}

inline std::string name_of(const Item& item) {
  return std::string(std::visit([](const auto& what) { return what.name; }, item.what));
}

// Position of the first item of that name (and phase), -1 when there is none.
inline int find(const std::vector<Item>& items, std::string_view name) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (name_of(items[i]) == name) return static_cast<int>(i);
  }
  return -1;
}
inline int find(const std::vector<Item>& items, std::string_view name, Phase phase) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (name_of(items[i]) == name && items[i].phase == phase) return static_cast<int>(i);
  }
  return -1;
}

// "all_gather attention input 1234" of each collective of a group, in order.
struct Called {
  std::string name;
  Operation operation;
  double payload;
  bool operator==(const Called&) const = default;
};
inline std::vector<Called> calls_of(const std::vector<Item>& items, GroupKind group) {
  std::vector<Called> called;
  for (const Item& item : items) {
    const CollectiveCall* call = std::get_if<CollectiveCall>(&item.what);
    if (call != nullptr && call->group == group) {
      called.push_back({std::string(call->name), call->operation, call->payload.value});
    }
  }
  return called;
}

}  // namespace stepsim::samples
