#include "sim/base/read_files.hpp"

#include <filesystem>
#include <set>

namespace stepsim {
namespace {

std::string one_name(const std::string& path) {
  std::error_code failed;
  const auto name = std::filesystem::weakly_canonical(std::filesystem::absolute(path), failed);
  return failed ? path : name.string();
}

std::set<std::string>& read_files() {
  static std::set<std::string> files;
  return files;
}

}  // namespace

void note_read(const std::string& path) { read_files().insert(one_name(path)); }
bool was_read(const std::string& path) { return read_files().contains(one_name(path)); }

}  // namespace stepsim
