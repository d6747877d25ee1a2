// Runs work in a forked child that shares memory with its parent: SimGrid allows one simulation in a process.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace stepsim {

// Anonymous memory that a forked child shares with its parent, zero-filled.
template <class T>
class SharedArray {
 public:
  explicit SharedArray(std::size_t n) : bytes_(sizeof(T) * (n > 0 ? n : 1)) {
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(p);
  }
  ~SharedArray() { munmap(data_, bytes_); }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

// Forks, runs `work` in the child and returns what it returned. A GraphError or StuckError thrown by the work is thrown here again; any other end
// but a normal one (an exception, a signal) is a std::runtime_error that says what happened.
std::string ask_child(const std::function<std::string()>& work);
void run_in_child(const std::function<void()>& work);

// For work in a child that simulates once and no more: it may do so where it is. After that neither this process nor a
// child of it could simulate again.
void simulate_here_next();
bool simulates_here();  // whether that was said; asked, it holds no more

// The same for several works, at most `at_once` at a time, the next as soon as any has ended. Throws the failure of the
// first work that failed, after all have ended.
void run_in_children(const std::vector<std::function<void()>>& works, int at_once);

}  // namespace stepsim
