#include "sim/cost/power.hpp"

#include <cmath>

namespace stepsim {
namespace {

double clock_at(const PowerModel& power, Watts limit, double activity, double utilisation) {
  const double wanted = activity * power.dynamic.value * utilisation;
  const double left = limit.value - power.idle.value;
  if (wanted <= left) return 1;
  return std::pow(left / wanted, 1 / (1 + 2 * power.voltage_exponent));
}

// The utilisation at the full clock of a kernel that reaches `measured` at the usual limit: u clock(u) = measured, where
// clock(u) = (left / (dynamic u))^(1 / e) once the limit binds.
double at_full_clock(const PowerModel& power, double measured) {
  if (clock_at(power, power.usual_limit, 1, measured) == 1) return measured;
  const double exponent = 1 + 2 * power.voltage_exponent;
  const double left = power.usual_limit.value - power.idle.value;
  if (exponent == 1) return measured;
  return std::pow(measured * std::pow(power.dynamic.value / left, 1 / exponent), exponent / (exponent - 1));
}

}  // namespace

double clock_of(const PowerModel& power, double utilisation) {
  return clock_at(power, power.limit, power.activity, utilisation);
}

double relative_clock(const PowerModel& power, double utilisation) {
  if (power.limit == power.usual_limit && power.activity == 1) return 1;
  const double full = at_full_clock(power, utilisation);
  return clock_of(power, full) / clock_at(power, power.usual_limit, 1, full);
}

}  // namespace stepsim
