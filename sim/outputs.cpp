#include "sim/outputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/base/errors.hpp"
#include "sim/base/read_files.hpp"

namespace stepsim {
namespace {

namespace fs = std::filesystem;

bool is_special(const fs::path& path) {
  std::error_code none;
  const auto status = fs::status(path, none);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);  // /dev/null, a pipe
}

bool same_file(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::error_code none;
  return a != "-" && b != "-" && !is_special(a) && fs::weakly_canonical(fs::absolute(a), none) == fs::weakly_canonical(fs::absolute(b), none);
}

std::string why_not(const std::string& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) return "is a folder";
  if (is_special(path)) return "";
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (!fs::is_directory(folder, none)) return fmt::format("there is no folder {}", folder.string());
  if (access(folder.c_str(), W_OK) != 0) return fmt::format("the folder {} cannot be written", folder.string());
  if (fs::exists(path, none) && access(path.c_str(), W_OK) != 0) return "cannot be overwritten";
  return "";
}

}  // namespace

void Outputs::want(const std::string& option, const std::string& path) {
  if (!path.empty()) files_.push_back({option, path});
}

void Outputs::require_writable() const {
  std::vector<Problem> problems;
  std::string first_standard;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto& [option, path] = files_[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(files_[j].path, path)) problems.push_back({"", 0, option, fmt::format("{} is already written by {}", path, files_[j].option)});
    }
    if (path == "-") continue;
    if (const std::string why = why_not(path); !why.empty()) problems.push_back({path, 0, option, why});
  }
  if (!problems.empty()) throw InputError(problems);
}

bool Outputs::wants_standard_output() const {
  return std::any_of(files_.begin(), files_.end(), [](const File& f) { return f.path == "-"; });
}

void write_output(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      throw InputError({{"standard output", 0, "", std::strerror(errno)}});
    }
    return;
  }
  const bool special = is_special(path);
  if (!special && was_read(path)) throw InputError({{path, 0, "", "is an input of this command, or its store: write to another file"}});
  const std::string beside = special ? path : fmt::format("{}.{}.part", path, getpid());
  std::ofstream file(beside, std::ios::binary);
  file << text;
  file.close();
  std::error_code failed;
  if (file && !special) fs::rename(beside, path, failed);
  if (file && !failed) return;
  const std::string why = failed ? failed.message() : std::strerror(errno);
  if (!special) fs::remove(beside, failed);
  throw InputError({{path, 0, "", "could not be written: " + why}});
}

}  // namespace stepsim
