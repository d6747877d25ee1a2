#include "sim/engine/child.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Waits until one of them has told how it went, or has ended.
std::size_t first_with_news(const std::vector<std::pair<std::size_t, Child>>& children) {
  std::vector<pollfd> ends;
  for (const auto& [work, child] : children) ends.push_back({child.outcome, POLLIN, 0});
  while (poll(ends.data(), ends.size(), -1) < 0) {
    if (errno != EINTR) throw std::runtime_error(fmt::format("poll: {}", std::strerror(errno)));
  }
  return static_cast<std::size_t>(std::find_if(ends.begin(), ends.end(), [](const pollfd& end) { return end.revents != 0; }) - ends.begin());
}

}  // namespace

void simulate_here_next() { next_is_here = is_child; }
bool simulates_here() { return std::exchange(next_is_here, false); }

std::string ask_child(const std::function<std::string()>& work) { return answer_in(finish(start(work))); }

void run_in_child(const std::function<void()>& work) { ask_child(without_answer(work)); }

void run_in_children(const std::vector<std::function<void()>>& works, int at_once) {
  std::vector<std::pair<std::size_t, Child>> running;  // by number of the work
  std::vector<std::string> outcomes(works.size());
  const auto finish_one = [&] {
    const auto done = running.begin() + static_cast<std::ptrdiff_t>(first_with_news(running));
    outcomes[done->first] = finish(done->second);
    running.erase(done);
  };
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (static_cast<int>(running.size()) >= std::max(1, at_once)) finish_one();
    running.emplace_back(i, start(without_answer(works[i])));
  }
  while (!running.empty()) finish_one();
  for (const std::string& outcome : outcomes) answer_in(outcome);
}

}  // namespace stepsim
