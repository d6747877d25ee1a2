// Ops come out of a table as they went in, and what they have in common is kept once.
#include "sim/graph/op_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stepsim::op_table_test {
namespace {

// One of a few specs, so that some come again.
Op some_op(int index) {
  Op op;
  op.kind = static_cast<OpKind>(*rc::gen::inRange(0, 3));
  op.stream = static_cast<std::uint8_t>(*rc::gen::inRange(0, 3));
  op.seconds = *rc::gen::inRange(0, 3) * 0.5;
  op.sm_seconds = op.seconds * *rc::gen::inRange(0, 2);
  op.payload_bytes = *rc::gen::inRange(0, 3) * 1e6;
  op.slot = static_cast<std::int16_t>(*rc::gen::inRange(-1, 2));
  op.pattern = static_cast<std::int16_t>(*rc::gen::inRange(-1, 2));
  op.sms = static_cast<std::int16_t>(*rc::gen::inRange(0, 2) * 20);
  op.tags.phase = static_cast<Phase>(*rc::gen::inRange(0, 3));
  op.tags.layer = static_cast<std::int16_t>(*rc::gen::inRange(0, 3));
  op.tags.microbatch = *rc::gen::inRange(-1, 5);
  op.tags.label = *rc::gen::inRange(0, 2);
  op.work.flops = *rc::gen::inRange(0, 2) * 1e9;
  for (int n = *rc::gen::inRange(0, 4); n > 0 && index > 0; --n) op.after.push_back(*rc::gen::inRange(0, index));
  return op;
}

RC_GTEST_PROP(OpTable, GivesBackWhatItTook, ()) {
  std::vector<Op> ops;
  const int n = *rc::gen::inRange(0, 300);
  for (int i = 0; i < n; ++i) ops.push_back(some_op(i));
  const OpTable table(ops);
  RC_ASSERT(table.size() == ops.size());
  std::vector<Op> specs;  // apart, without microbatch and waits
  std::vector<int> uses;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    RC_ASSERT(table.copy(i) == ops[i]);
    const OpView view = table[i];
    RC_ASSERT(view.kind == ops[i].kind);
    RC_ASSERT(view.stream == ops[i].stream);
    RC_ASSERT(view.slot == ops[i].slot);
    RC_ASSERT(view.pattern == ops[i].pattern);
    RC_ASSERT(view.sms == ops[i].sms);
    RC_ASSERT(view.seconds == ops[i].seconds);
    RC_ASSERT(view.sm_seconds == ops[i].sm_seconds);
    RC_ASSERT(view.payload_bytes == ops[i].payload_bytes);
    RC_ASSERT(view.tags == ops[i].tags);
    RC_ASSERT(view.work == ops[i].work);
    RC_ASSERT(OpList(view.after.begin(), view.after.end()) == ops[i].after);
    Op spec = ops[i];
    spec.tags.microbatch = -1;
    spec.after.clear();
    const auto known = std::find(specs.begin(), specs.end(), spec);
    if (known == specs.end()) {
      specs.push_back(spec);
      uses.push_back(1);
    } else {
      ++uses[static_cast<std::size_t>(known - specs.begin())];
    }
  }
  RC_ASSERT(table.specs().size() == specs.size());
  for (std::size_t s = 0; s < specs.size(); ++s) {
    RC_ASSERT(table.specs()[s] == static_cast<const OpSpec&>(specs[s]));
    RC_ASSERT(table.uses()[s] == uses[s]);
  }
}

RC_GTEST_PROP(OpTable, OneOpChanges, ()) {
  std::vector<Op> ops;
  const int n = *rc::gen::inRange(1, 60);
  for (int i = 0; i < n; ++i) ops.push_back(some_op(i));
  OpTable table(ops);
  const auto at = static_cast<std::size_t>(*rc::gen::inRange(0, n));
  table.change(at, [](Op& op) { op.seconds += 1; });
  RC_ASSERT(!(table == OpTable(ops)));
  ops[at].seconds += 1;
  RC_ASSERT(table == OpTable(ops));
}

}  // namespace
}  // namespace stepsim::op_table_test
