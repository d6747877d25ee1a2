// calibrate FOLDER [--check]: fits the calibrated rates of FOLDER/*.yaml to FOLDER/measured/*.csv and to
// FOLDER/../measured/collectives.csv (all-to-alls on the clusters of FOLDER/..) and writes them into the files, or says which files differ from the fit.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "section.hpp"
#include "sim/base/errors.hpp"

using namespace stepsim;

namespace {

const std::string kBegin = "  # Everything below is written by tools/calibrate";

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What stands above the section: written by hand.
std::string by_hand(const std::string& text) {
  std::string head = text.substr(0, text.find(kBegin));
  while (head.ends_with("\n\n")) head.pop_back();
  return head;
}

Gpus read_gpus(const std::filesystem::path& folder) {
  Gpus gpus;
  const std::filesystem::path hand = std::filesystem::temp_directory_path() / fmt::format("calibrate.{}.yaml", std::hash<std::string>{}(folder));
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ofstream(hand) << by_hand(text_of(entry.path()));
    Reading reading;
    gpus[entry.path().stem()] = read_gpu(reading, hand, Rates::speed_of_light);
    std::filesystem::remove(hand);
    for (Problem& p : reading.problems) p.file = entry.path();
    reading.throw_if_any();
  }
  return gpus;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || (argc == 3 && std::string(argv[2]) != "--check")) {
    fmt::print(stderr, "calibrate FOLDER [--check]\n");
    return 2;
  }
  const bool check = argc == 3;
  const std::filesystem::path folder = argv[1];
  try {
    Gpus gpus = read_gpus(folder);
    const std::filesystem::path platforms = folder / "..";
    const Origins origins = calibrate(gpus, {read_kernels(folder / "measured"), read_memory(folder / "measured"),
                                             read_calls(platforms / "measured" / "collectives.csv"), read_exchanges(platforms)});
    int stale = 0;
    for (const auto& [stem, of_gpu] : origins) {
      const std::filesystem::path file = folder / (stem + ".yaml");
      const std::string old = text_of(file), fresh = by_hand(old) + section_of(gpus.at(stem), of_gpu);
      if (old == fresh) continue;
      ++stale;
      fmt::print("{} {}\n", file.string(), check ? "is not what the measurements say" : "written");
      if (!check) std::ofstream(file) << fresh;
    }
    return check && stale > 0 ? 1 : 0;
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
