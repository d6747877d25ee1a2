#!/usr/bin/env bash
# To add a schedule: one file in workloads/schedules/, one line in the table. This adds one to a copy of the sources and
# has the library find it, make it and check it.
set -euo pipefail
source_dir=${STEPSIM_SOURCE_DIR:?}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

mkdir -p "$copy/workloads" "$copy/sim"
cp -r "$source_dir/workloads/schedules" "$copy/workloads/"
cp "$source_dir"/workloads/{schedule,schedule_check,schedule_deadlock,pass_index}.cpp \
  "$source_dir"/workloads/{schedule,schedule_deadlock,pass_index}.hpp \
  "$copy/workloads/"

# The one file: microbatches one after the other, the pipeline empty in between.
cat > "$copy/workloads/schedules/one_at_a_time.cpp" <<'END'
#include "workloads/schedules/schedules.hpp"

namespace stepsim {
namespace {

std::string refuses(const ScheduleShape& shape) { return refuse_shape(shape, "one-at-a-time", 1); }

Schedule make(const ScheduleShape& shape) {
  Schedule schedule = looped_schedule(shape.ranks, 1, shape.microbatches);
  for (std::vector<Pass>& order : schedule.order) {
    PassList passes(order);
    for (int m = 0; m < shape.microbatches; ++m) {
      passes.forward(m, 0);
      passes.backward(m, 0);
    }
  }
  return schedule;
}

}  // namespace

ScheduleKind one_at_a_time_schedule() { return {"one-at-a-time", "no pipelining", false, 1, refuses, make, 1}; }

}  // namespace stepsim
END

# The one line.
sed -i 's/^  line(gpipe) .*/&\n  line(one_at_a_time) \\/' "$copy/workloads/schedules/schedules.hpp"
test "$(diff -r "$source_dir/workloads/schedules" "$copy/workloads/schedules" | grep -c '^[<>O]')" = 2

cat > "$copy/use.cpp" <<'END'
#include <cstdio>

#include "workloads/schedule.hpp"

int main() {
  const stepsim::ScheduleKind* kind = stepsim::find_schedule("one-at-a-time");
  if (kind == nullptr) return std::puts("not in the table"), 1;
  for (const auto& problem : stepsim::problems_of(kind->make({4, 1, 8}))) return std::puts(problem.c_str()), 1;
  return kind->refuses({4, 2, 8}).empty() ? 1 : 0;
}
END
cd "$copy"
printf '%s\n' use.cpp workloads/*.cpp workloads/schedules/*.cpp |
  xargs -P 2 -I{} sh -c '"${CXX:-c++}" -std=c++20 -O0 -I. -c {} -o "$(basename {} .cpp).o"'
"${CXX:-c++}" ./*.o -lfmt -o use
./use
