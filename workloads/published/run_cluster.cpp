// The columns gpu, gpus, gpus_per_node and interconnect.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <regex>

#include "workloads/published/translation.hpp"
#include "workloads/published/wording.hpp"

namespace stepsim {
namespace {

// Words of the column gpu, all of which must stand there; the first line that fits counts.
struct GpuWords {
  std::string_view name, detail, cluster;  // an empty cluster: none is shipped
  double gigabits = 0;                     // of a GPU's part of the cards between nodes there, by the data sheet
  int domain = 0;                          // GPUs of one NVLink domain where it is larger than a server
};
constexpr std::array<GpuWords, 13> kGpus{{{"gb300", "", "gb300-nvl72", 800, 72},
                                          {"gb200", "", "gb200-nvl72", 400, 72},
                                          {"b200", "", "hgx-b200", 400},
                                          {"h200", "", "hgx-h200", 400},
                                          {"h800", "", "h800-256x8", 400},
                                          {"h100", "pcie", ""},
                                          {"h100", "", "dgx-h100", 400},
                                          {"a100", "pcie", "a100-pcie", 50},
                                          {"a100", "40gb", "dgx-a100-40", 200},
                                          {"a100", "40 gb", "dgx-a100-40", 200},
                                          {"a100", "", "dgx-a100-80", 200},
                                          {"a800", "", "hgx-a800", 200},
                                          {"v100", "", "dgx2-v100", 50}}};

constexpr int kUsedOfRack = 64;  // an NVL72 job takes 64 of the 72 GPUs of each rack where it needs several

const GpuWords* gpu_of(const std::string& text) {
  const auto fits = [&](const GpuWords& g) { return Wording(text).take(g.name) && Wording(text).take(g.detail); };
  const auto at = std::find_if(kGpus.begin(), kGpus.end(), fits);
  return at == kGpus.end() || at->cluster.empty() ? nullptr : &*at;
}

// GPUs that a run takes of each domain: all it has, or as many in each of several.
int per_domain(int gpus, int domain) {
  if (gpus <= domain) return gpus;
  if (domain > kUsedOfRack && gpus % kUsedOfRack == 0) return kUsedOfRack;
  while (gpus % domain != 0) --domain;
  return domain;
}

// "8x400Gb NDR IB", "4x Omni-Path 100Gb per node": a number of cards times their speed.
double cards(const std::string& part) {
  static const std::regex form(R"((\d+) ?x ?(?!\.\.)[^,;]*?(\d+) ?Gb)");
  double most = 0;
  for (auto at = std::sregex_iterator(part.begin(), part.end(), form); at != std::sregex_iterator(); ++at) {
    most = std::max(most, std::stod((*at)[1]) * std::stod((*at)[2]));
  }
  return most;
}

// "1600 Gb/s RoCE per node".
double alone(const std::string& part) {
  static const std::regex form(R"((\d+) ?Gb)");
  std::smatch found;
  return std::regex_search(part, found, form) ? std::stod(found[1]) : 0;
}

}  // namespace

double node_gigabits(std::string_view interconnect) {
  // A node may name several networks; the one called Compute carries the training.
  std::string text(interconnect);
  if (const std::size_t at = text.find("Compute:"); at != std::string::npos) text = text.substr(at + 8);
  static const std::regex end("[;,]");
  double found = 0;
  for (auto part = std::sregex_token_iterator(text.begin(), text.end(), end, -1); part != std::sregex_token_iterator(); ++part) {
    const double stated = cards(*part) > 0 ? cards(*part) : alone(*part);
    if (found == 0) found = stated;
  }
  return found;
}

void translate_cluster(const PublishedRun& run, Translation& out) {
  const GpuWords* gpu = gpu_of(run.gpu);
  if (gpu == nullptr) {
    out.problems.push_back(fmt::format("gpu: no shipped cluster has \"{}\"", run.gpu));
    return;
  }
  if (run.gpus < 1 || run.gpus_per_node < 1) return;  // the reader has said so
  RunCluster& c = out.cluster;
  c.shipped = gpu->cluster;
  c.gpus_per_node = per_domain(run.gpus, gpu->domain > 0 ? gpu->domain : run.gpus_per_node);
  c.nodes = run.gpus / c.gpus_per_node;
  if (gpu->domain > 0 && c.nodes > 1) out.assume("rack-use");
  if (c.nodes == 1) return;
  // The cluster's links hold what is achieved of the data sheet; another network is taken to achieve as large a part.
  const double gigabits = node_gigabits(run.interconnect);
  if (gigabits > 0) c.network = gigabits / run.gpus_per_node / gpu->gigabits;
  if (gigabits == 0) out.assume("network");
}

}  // namespace stepsim
