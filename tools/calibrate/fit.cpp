#include "fit.hpp"

#include <algorithm>
#include <cmath>

namespace stepsim {
namespace {

// Zeros draw about 40 % less dynamic power than random data (Gregersen et al., arXiv 2409.18324).
constexpr double kActivityOfZeros = 0.6;

double at(const Parameter& p, int index) { return p.low + index * p.step; }

}  // namespace

namespace {

double ratio_in(const std::string& condition, const Gpus& gpus, const Measured& row) {
  Gpu gpu = gpus.at(row.gpu);
  gpu.rates = Rates::calibrated;
  // The best of thousands of shapes is the one that felt the limit least.
  if (condition == "burst" || condition == "best_shape") gpu.power.reset();
  if (condition == "zeros" && gpu.power) gpu.power->activity = kActivityOfZeros;
  Seconds time;
  for (const Kernel& kernel : row.kernels) time += cost_of(kernel, gpu, gpu.sms).time;
  return time / row.time;
}

}  // namespace

double ratio(const Gpus& gpus, const Measured& row) {
  if (row.condition != "unstated") return ratio_in(row.condition, gpus, row);
  const double burst = ratio_in("burst", gpus, row), sustained = ratio_in("sustained", gpus, row);
  return std::abs(std::log(burst)) < std::abs(std::log(sustained)) ? burst : sustained;
}

double loss(const Gpus& gpus, const std::vector<const Measured*>& rows) {
  std::map<std::string, std::pair<double, double>> of_gpu;
  for (const Measured* row : rows) {
    auto& [sum, weights] = of_gpu[row->gpu];
    const bool product = row->kernels[0].kind != KernelClass::attention;
    const double weight = product ? std::sqrt(row->time.value) : 1;
    sum += weight * std::abs(std::log(ratio(gpus, *row)));
    weights += weight;
  }
  double all = 0;
  for (const auto& [gpu, of] : of_gpu) all += of.first / of.second;
  return all / static_cast<double>(of_gpu.size());
}

void fit(Gpus& gpus, const Fit& what) {
  std::vector<int> index;
  std::vector<double> values;
  for (const Parameter& p : what.parameters) {
    index.push_back(static_cast<int>(std::lround((p.start - p.low) / p.step)));
    values.push_back(at(p, index.back()));
  }
  what.apply(gpus, values);
  double best = loss(gpus, what.rows);
  for (int stride = 16; stride >= 1; stride /= 2) {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < index.size(); ++i) {
        for (const int step : {stride, -stride}) {
          const Parameter& p = what.parameters[i];
          const int most = static_cast<int>(std::lround((p.high - p.low) / p.step));
          const int next = std::clamp(index[i] + step, 0, most);
          if (next == index[i]) continue;
          values[i] = at(p, next);
          what.apply(gpus, values);
          const double now = loss(gpus, what.rows);
          if (now < best - 1e-7) {
            best = now;
            index[i] = next;
            better = true;
          }
          values[i] = at(p, index[i]);
        }
      }
    }
  }
  what.apply(gpus, values);
}

Residuals residuals(const Gpus& gpus, const std::vector<const Measured*>& rows) {
  std::vector<double> signed_errors;
  for (const Measured* row : rows) signed_errors.push_back(ratio(gpus, *row) - 1);
  return residuals(std::move(signed_errors));
}

Residuals residuals(std::vector<double> signed_errors) {
  std::vector<double> errors;
  for (const double error : signed_errors) errors.push_back(std::abs(error));
  std::sort(errors.begin(), errors.end());
  std::sort(signed_errors.begin(), signed_errors.end());
  const std::size_t n = errors.size();
  return {static_cast<int>(n), errors[n / 2], errors[std::min(n - 1, n * 9 / 10)], signed_errors[n / 2]};
}

}  // namespace stepsim
