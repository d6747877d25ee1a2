// Tasks in forked workers, one for each core: they share what was loaded before, and a crash ends a worker, not the run.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace stepsim {

struct Answer {
  std::size_t task = 0;
  bool crashed = false;
  std::string text;  // what the work returned; of a crash, how the worker ended
};

struct Tasks {
  std::function<std::optional<std::size_t>()> next;  // the next task, or none for now; asked again after each answer
  std::function<std::string(std::size_t)> work;      // runs in a worker; an exception is a crash
  std::function<void(const Answer&)> done;           // runs in the caller, in the order in which answers come
  std::function<void()> tick = [] {};                // about once a second
};

// Ends when next() has none and no task is running. A worker that ends in the middle of a task is replaced. Workers end
// with their parent, whatever ends it.
void run_tasks(int workers, const Tasks& tasks);

// Cores that this process may use.
int usable_cores();

}  // namespace stepsim
