#include "sim/engine/child.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "sim/engine/engine.hpp"

namespace stepsim {
namespace {

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;  // the parent is gone: nobody is left to tell
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

constexpr std::string_view kOk = "ok: ", kGraph = "graph: ", kStuck = "stuck: ", kError = "error: ";

// What the child tells: how it went, and what the work returned or why it failed.
std::string outcome_of(const std::function<std::string()>& work) {
  try {
    return fmt::format("{}{}", kOk, work());
  } catch (const GraphError& e) {
    return fmt::format("{}{}", kGraph, e.what());
  } catch (const StuckError& e) {
    return fmt::format("{}{}", kStuck, e.what());
  } catch (const std::exception& e) {
    return fmt::format("{}{}", kError, e.what());
  }
}

bool is_child = false;
bool next_is_here = false;

struct Child {
  pid_t pid = -1;
  int outcome = -1;  // read end of its pipe
};

Child start(const std::function<std::string()>& work) {
  int fds[2];
  if (pipe(fds) != 0) throw std::runtime_error(fmt::format("no pipe to a child: {}", std::strerror(errno)));
  std::fflush(nullptr);  // what is buffered must not be written twice
  const pid_t pid = fork();
  if (pid < 0) {
    const int why = errno;
    close(fds[0]);
    close(fds[1]);
    throw std::runtime_error(fmt::format("no child: {}", std::strerror(why)));
  }
  if (pid == 0) {
    is_child = true;
    close(fds[0]);
    write_all(fds[1], outcome_of(work));
    close(fds[1]);
    std::fflush(nullptr);
    _exit(0);
  }
  close(fds[1]);
  return {pid, fds[0]};
}

// As outcome_of words it.
std::string finish(const Child& child) {
  std::string outcome = read_all(child.outcome);
  close(child.outcome);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return fmt::format("{}the child was ended by signal {}", kError, WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return fmt::format("{}the child ended with code {}", kError, WEXITSTATUS(status));
  return outcome;
}

// What the work returned, of a good outcome.
std::string answer_in(const std::string& outcome) {
  const auto rest = [&](std::string_view kind) { return outcome.substr(kind.size()); };
  if (outcome.starts_with(kOk)) return rest(kOk);
  if (outcome.starts_with(kGraph)) throw GraphError(rest(kGraph));
  if (outcome.starts_with(kStuck)) throw StuckError(rest(kStuck));
  throw std::runtime_error(outcome.starts_with(kError) ? rest(kError) : "the child ended without a word");
}

std::function<std::string()> without_answer(const std::function<void()>& work) {
  return [&work] {
    work();
    return std::string();
  };
}

}  // namespace

void simulate_here_next() { next_is_here = is_child; }
bool simulates_here() { return std::exchange(next_is_here, false); }

std::string ask_child(const std::function<std::string()>& work) { return answer_in(finish(start(work))); }

void run_in_child(const std::function<void()>& work) { ask_child(without_answer(work)); }

void run_in_children(const std::vector<std::function<void()>>& works, int at_once) {
  std::deque<Child> running;
  std::string failure(kOk);
  const auto finish_first = [&] {
    const std::string outcome = finish(running.front());
    running.pop_front();
    if (failure == kOk) failure = outcome;
  };
  for (const auto& work : works) {
    if (static_cast<int>(running.size()) >= std::max(1, at_once)) finish_first();
    running.push_back(start(without_answer(work)));
  }
  while (!running.empty()) finish_first();
  answer_in(failure);
}

}  // namespace stepsim
