// The longest way between two of many things that meet in one centre. Internal to this folder.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace stepsim {

// The longest way out of one (length, number) with the longest way in of another. At least two of each, the same numbers.
inline double longest_way(std::vector<std::pair<double, int>> out, std::vector<std::pair<double, int>> in) {
  std::partial_sort(out.begin(), out.begin() + 2, out.end(), std::greater<>());
  std::partial_sort(in.begin(), in.begin() + 2, in.end(), std::greater<>());
  double longest = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      if (out[i].second != in[j].second) longest = std::max(longest, out[i].first + in[j].first);
    }
  }
  return longest;
}

}  // namespace stepsim
