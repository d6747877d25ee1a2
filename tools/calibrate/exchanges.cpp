#include "exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/measured.hpp"

namespace stepsim {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

}  // namespace

std::vector<MeasuredExchange> read_exchanges(const std::string& platforms) {
  std::vector<MeasuredRow> rows = read_measured(platforms + "/measured/collectives.csv");
  std::erase_if(rows, [](const MeasuredRow& r) {
    return r.operation != "all_to_all" && r.operation != "dispatch" && r.operation != "combine";
  });
  std::vector<std::string> clusters;
  for (const auto& entry : std::filesystem::directory_iterator(platforms)) {
    if (entry.path().extension() == ".yaml") clusters.push_back(entry.path().stem());
  }
  std::sort(clusters.begin(), clusters.end());
  const auto load = [&](const std::string& name) {
    Reading reading;
    ClusterSpec cluster = read_cluster(reading, platforms + "/" + name + ".yaml", {}, Rates::speed_of_light);
    reading.throw_if_any();
    return cluster;
  };
  std::vector<MeasuredExchange> exchanges;
  for (const Comparison& c : compare_measured(rows, clusters, load)) {
    if (c.missing.empty()) exchanges.push_back({c.row.machine, c.row.gpus <= c.row.per_node, c.row.bandwidth / c.simulated});
  }
  return exchanges;
}

AllToAllFit fit_all_to_all(const std::vector<MeasuredExchange>& exchanges, const std::vector<std::string>& machines) {
  AllToAllFit fit;
  std::vector<double> errors;
  for (const bool inside : {true, false}) {
    std::vector<double> reached;
    for (const MeasuredExchange& e : exchanges) {
      const bool asked = std::find(machines.begin(), machines.end(), e.machine) != machines.end();
      if (asked && e.inside == inside) reached.push_back(e.reached);
    }
    if (reached.empty()) continue;
    const double part = std::min(1.0, std::round(median(reached) * 200) / 200);
    (inside ? fit.rates.inside : fit.rates.between) = part;
    for (const double r : reached) errors.push_back(part / r - 1);
  }
  fit.errors = residuals(std::move(errors));
  return fit;
}

}  // namespace stepsim
