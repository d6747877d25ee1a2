// The Hugging Face configs of tests/data/configs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/model.hpp"

namespace stepsim::test {

struct ReadModel {
  ModelSpec model;
  Reading reading;
};

inline ReadModel read_config_of(const std::string& name, const std::vector<Override>& changes = {}) {
  ReadModel result;
  result.model = read_model(result.reading, STEPSIM_SOURCE_DIR "/tests/data/configs/" + name + ".json", changes);
  for (const Problem& problem : result.reading.problems) ADD_FAILURE() << to_text(problem);
  return result;
}

inline std::vector<std::string> all_configs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(STEPSIM_SOURCE_DIR "/tests/data/configs")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace stepsim::test
