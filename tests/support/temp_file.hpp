// A file that lives as long as its test.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace stepsim::test {

class TempFile {
 public:
  explicit TempFile(const std::string& text, const std::string& ending = ".xml") {
    static int count = 0;
    path_ = "/tmp/stepsim_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + ending;
    std::ofstream(path_) << text;
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() { std::remove(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace stepsim::test
