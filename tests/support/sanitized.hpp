// Whether this is the build with sanitizers, in which everything takes ten times as long: tests with very many cases
// take fewer there, and all of them optimised (tools/test).
#pragma once

namespace stepsim::testing {
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
}  // namespace stepsim::testing
