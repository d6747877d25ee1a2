// Every shipped GPU file is read without problems and is consistent.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sim/cluster/gpu.hpp"

namespace stepsim::gpu_test {
std::vector<std::string> gpu_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(STEPSIM_SOURCE_DIR "/platforms/gpus")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Gpu, ShippedFilesAreRead) {
  EXPECT_GE(gpu_files().size(), 10u);
  for (const std::string& file : gpu_files()) {
    Reading reading;
    const Gpu gpu = read_gpu(reading, file, Rates::speed_of_light);
    EXPECT_TRUE(reading.problems.empty()) << file << ": " << reading.problems[0].reason;
    // Achieved rates lie between half of the data sheet's and the data sheet's.
    EXPECT_GT(gpu.bf16 / gpu.bf16_peak, 0.5) << file;
    EXPECT_GE(gpu.fp8 / gpu.bf16, 1) << file;
    EXPECT_GE(gpu.sms, 80) << file;
  }
}

}  // namespace stepsim::gpu_test
