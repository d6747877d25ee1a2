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

// What the child tells: "ok", "graph: ...", "stuck: ..." or "error: ...".
std::string outcome_of(const std::function<void()>& work) {
  try {
    work();
    return "ok";
  } catch (const GraphError& e) {
    return std::string("graph: ") + e.what();
  } catch (const StuckError& e) {
    return std::string("stuck: ") + e.what();
  } catch (const std::exception& e) {
    return std::string("error: ") + e.what();
  }
}

struct Child {
  pid_t pid = -1;
  int outcome = -1;  // read end of its pipe
};

Child start(const std::function<void()>& work) {
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
    close(fds[0]);
    write_all(fds[1], outcome_of(work));
    close(fds[1]);
    std::fflush(nullptr);
    _exit(0);
  }
  close(fds[1]);
  return {pid, fds[0]};
}

// "" when all is well, else what went wrong, as outcome_of words it.
std::string finish(const Child& child) {
  const std::string outcome = read_all(child.outcome);
  close(child.outcome);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (outcome == "ok" && WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  for (const char* kind : {"graph: ", "stuck: ", "error: "}) {
    if (outcome.starts_with(kind)) return outcome;
  }
  if (WIFSIGNALED(status)) return fmt::format("error: the child was ended by signal {}", WTERMSIG(status));
  return fmt::format("error: the child ended with code {}", WEXITSTATUS(status));
}

void throw_if_failed(const std::string& outcome) {
  if (outcome.starts_with("graph: ")) throw GraphError(outcome.substr(7));
  if (outcome.starts_with("stuck: ")) throw StuckError(outcome.substr(7));
  if (!outcome.empty()) throw std::runtime_error(outcome.substr(7));
}

}  // namespace

void run_in_child(const std::function<void()>& work) { throw_if_failed(finish(start(work))); }

void run_in_children(const std::vector<std::function<void()>>& works, int at_once) {
  std::deque<Child> running;
  std::string failure;
  const auto finish_first = [&] {
    const std::string outcome = finish(running.front());
    running.pop_front();
    if (failure.empty()) failure = outcome;
  };
  for (const auto& work : works) {
    if (static_cast<int>(running.size()) >= std::max(1, at_once)) finish_first();
    running.push_back(start(work));
  }
  while (!running.empty()) finish_first();
  throw_if_failed(failure);
}

}  // namespace stepsim
