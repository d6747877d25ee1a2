// What a point is known by in a store: a hash of everything its result depends on.
#pragma once

#include <map>
#include <string>

#include "sim/inputs.hpp"
#include "sim/simulate.hpp"

namespace stepsim {

// "0.1.0+1f2e3d4c5b6a": the release, and a hash of the program's own file, so that results of different builds never
// pass for one another.
const std::string& program_version();

// 32 hexadecimal digits (XXH3, 128 bits) of: the program's version, engine, detail, folding and elasticities; every
// value that was read (as `check --explain` lists them, whichever file or --set it came from); the contents of the files
// of model, cluster, platform, GPU, plan and scenario, of a schedule's passes and of recorded counts; links and ranks as
// the scenario leaves them.
class KeyMaker {
 public:
  // `home`: the folder of the shipped files. `brief`: of a point whose time and memory alone are asked for.
  std::string key_of(const Inputs& inputs, const Options& options, const std::string& home, bool brief = false);

 private:
  const std::string& hash_of_file(const std::string& path);

  std::map<std::string, std::string> files_;  // a sweep reads few files, and each often
};

// The same hash of any text, for points that could not be read.
std::string key_of_text(const std::string& text);

}  // namespace stepsim
