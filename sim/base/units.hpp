// Strong types for the quantities of a simulation: the unit is in the type. Seconds plus Bytes does not compile;
// Bytes over BytesPerSecond is Seconds. Values are doubles: exact for whole numbers below 2^53.
#pragma once

#include <compare>

namespace stepsim {

// A quantity with exponents of time (s), data (bytes) and work (FLOPs).
template <int Time, int Data, int Work>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value); }
  constexpr Quantity& operator+=(Quantity o) { value += o.value; return *this; }
  constexpr Quantity& operator-=(Quantity o) { value -= o.value; return *this; }
  constexpr Quantity& operator*=(double f) { value *= f; return *this; }
  constexpr Quantity& operator/=(double f) { value /= f; return *this; }
};

template <int T, int D, int W>
constexpr Quantity<T, D, W> operator+(Quantity<T, D, W> a, Quantity<T, D, W> b) { return Quantity<T, D, W>(a.value + b.value); }
template <int T, int D, int W>
constexpr Quantity<T, D, W> operator-(Quantity<T, D, W> a, Quantity<T, D, W> b) { return Quantity<T, D, W>(a.value - b.value); }
template <int T, int D, int W>
constexpr Quantity<T, D, W> operator*(Quantity<T, D, W> a, double f) { return Quantity<T, D, W>(a.value * f); }
template <int T, int D, int W>
constexpr Quantity<T, D, W> operator*(double f, Quantity<T, D, W> a) { return Quantity<T, D, W>(a.value * f); }
template <int T, int D, int W>
constexpr Quantity<T, D, W> operator/(Quantity<T, D, W> a, double f) { return Quantity<T, D, W>(a.value / f); }
template <int T, int D, int W>
constexpr double operator/(Quantity<T, D, W> a, Quantity<T, D, W> b) { return a.value / b.value; }
template <int T1, int D1, int W1, int T2, int D2, int W2>
  requires(T1 != T2 || D1 != D2 || W1 != W2)
constexpr auto operator/(Quantity<T1, D1, W1> a, Quantity<T2, D2, W2> b) {
  return Quantity<T1 - T2, D1 - D2, W1 - W2>(a.value / b.value);
}
template <int T1, int D1, int W1, int T2, int D2, int W2>
constexpr auto operator*(Quantity<T1, D1, W1> a, Quantity<T2, D2, W2> b) {
  if constexpr (T1 + T2 == 0 && D1 + D2 == 0 && W1 + W2 == 0) {
    return a.value * b.value;
  } else {
    return Quantity<T1 + T2, D1 + D2, W1 + W2>(a.value * b.value);
  }
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;

struct Watts {
  double value = 0;

  constexpr Watts() = default;
  constexpr explicit Watts(double v) : value(v) {}
  constexpr auto operator<=>(const Watts&) const = default;
};

}  // namespace stepsim
