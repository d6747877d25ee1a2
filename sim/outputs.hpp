// Files that a command writes: nothing is half-written, and what cannot be written is known before anything is simulated.
#pragma once

#include <string>
#include <vector>

namespace stepsim {

class Outputs {
 public:
  // Declares a file ("-": standard output; "": not wanted). `option` names it in messages.
  void want(const std::string& option, const std::string& path);
  // Throws InputError with every file that cannot be written, and when several want standard output.
  void require_writable() const;
  bool wants_standard_output() const;

 private:
  struct File {
    std::string option, path;
  };
  std::vector<File> files_;
};

// Writes the whole text beside the file, then moves it into place; "-" writes to standard output, "" nothing. Throws
// InputError when that fails.
void write_output(const std::string& path, const std::string& text);

}  // namespace stepsim
