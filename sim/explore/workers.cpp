#include "sim/explore/workers.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <vector>

namespace stepsim {
namespace {

constexpr std::uint64_t kNoTask = ~std::uint64_t{0};

struct Head {  // of an answer
  std::uint64_t size = 0;
  std::uint64_t failed = 0;
};

// false: the other end is gone.
bool write_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n < 0 && errno != EINTR) return false;
    if (n <= 0) continue;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int fd, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

// The worker's life: a task in, an answer out.
void serve(int in, int out, const std::function<std::string(std::size_t)>& work) {
  for (std::uint64_t task = 0; read_all(in, &task, sizeof task);) {
    Head head;
    std::string text;
    try {
      text = work(static_cast<std::size_t>(task));
    } catch (const std::exception& e) {
      head.failed = 1;
      text = e.what();
    }
    head.size = text.size();
    if (!write_all(out, &head, sizeof head) || !write_all(out, text.data(), text.size())) return;
  }
}

struct Worker {
  pid_t pid = -1;
  int to = -1, from = -1;
  std::uint64_t task = kNoTask;
};

// While tasks are run a write to a worker that has died is an error, not the end of this process.
class IgnoredBrokenPipes {
 public:
  IgnoredBrokenPipes() : before_(signal(SIGPIPE, SIG_IGN)) {}
  ~IgnoredBrokenPipes() { signal(SIGPIPE, before_); }
  IgnoredBrokenPipes(const IgnoredBrokenPipes&) = delete;
  IgnoredBrokenPipes& operator=(const IgnoredBrokenPipes&) = delete;

 private:
  sighandler_t before_;
};

class Pool {
 public:
  Pool(int size, const Tasks& tasks) : tasks_(tasks), workers_(static_cast<std::size_t>(std::max(1, size))) {}
  ~Pool() {
    for (Worker& worker : workers_) end(worker);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run() {
    for (;;) {
      hand_out();
      std::vector<pollfd> waiting;
      std::vector<Worker*> busy;
      for (Worker& worker : workers_) {
        if (worker.task == kNoTask) continue;
        waiting.push_back({worker.from, POLLIN, 0});
        busy.push_back(&worker);
      }
      if (busy.empty()) return;
      const int ready = poll(waiting.data(), waiting.size(), 1000);
      if (ready < 0 && errno != EINTR) throw std::runtime_error(fmt::format("poll: {}", std::strerror(errno)));
      for (std::size_t i = 0; ready > 0 && i < busy.size(); ++i) {
        if (waiting[i].revents != 0) take(*busy[i]);
      }
      tasks_.tick();
    }
  }

 private:
  void hand_out() {
    for (Worker& worker : workers_) {
      if (worker.task != kNoTask) continue;
      const std::optional<std::size_t> task = tasks_.next();
      if (!task) return;
      if (worker.pid < 0) start(worker);
      worker.task = *task;
      if (!write_all(worker.to, &worker.task, sizeof worker.task)) take(worker);  // it died idle: that task is lost
    }
  }

  void start(Worker& worker) {
    int to[2], from[2];
    if (pipe(to) != 0) throw std::runtime_error(fmt::format("no pipe to a worker: {}", std::strerror(errno)));
    if (pipe(from) != 0) throw std::runtime_error(fmt::format("no pipe from a worker: {}", std::strerror(errno)));
    std::fflush(nullptr);  // what is buffered must not be written twice
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error(fmt::format("no worker: {}", std::strerror(errno)));
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      for (const Worker& other : workers_) {
        if (other.to >= 0) close(other.to);
        if (other.from >= 0) close(other.from);
      }
      close(to[1]);
      close(from[0]);
      serve(to[0], from[1], tasks_.work);
      std::fflush(nullptr);
      _exit(0);
    }
    close(to[0]);
    close(from[1]);
    worker = {pid, to[1], from[0], kNoTask};
  }

  void take(Worker& worker) {
    Answer answer{static_cast<std::size_t>(worker.task), false, ""};
    Head head;
    bool whole = read_all(worker.from, &head, sizeof head);
    if (whole) {
      answer.text.resize(head.size);
      whole = read_all(worker.from, answer.text.data(), head.size);
      answer.crashed = head.failed != 0;
    }
    worker.task = kNoTask;
    if (!whole) {
      answer.crashed = true;
      answer.text = end(worker);
    }
    tasks_.done(answer);
  }

  std::string end(Worker& worker) {
    if (worker.pid < 0) return "";
    close(worker.to);
    close(worker.from);
    int status = 0;
    while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    worker = {};
    if (!WIFSIGNALED(status)) return fmt::format("the worker ended with code {}", WEXITSTATUS(status));
    return fmt::format("the worker was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }

  const Tasks& tasks_;
  std::vector<Worker> workers_;
};

}  // namespace

void run_tasks(int workers, const Tasks& tasks) {
  const IgnoredBrokenPipes ignored;
  Pool(workers, tasks).run();
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace stepsim
