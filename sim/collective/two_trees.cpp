#include "sim/collective/two_trees.hpp"

#include <algorithm>
#include <cmath>

namespace stepsim {
namespace {

// Members but 0 hang below the neighbour that has their lowest set bit cleared and the next one set, where there is
// such a member, else below the one that has both cleared.
int parent_of(int member, int n) {
  if (member == 0) return -1;
  const int bit = member & -member;
  const int above = (member ^ bit) | (bit << 1);
  return above < n ? above : member ^ bit;
}

Tree arranged(std::vector<int> parent) {
  Tree tree;
  const auto n = parent.size();
  tree.children.assign(n, 0);
  std::vector<int> level(n, 0);
  for (std::size_t m = 0; m < n; ++m) {
    tree.down.push_back(static_cast<int>(m));
    if (parent[m] >= 0) ++tree.children[parent[m]];
    for (int p = parent[m]; p >= 0; p = parent[p]) ++level[m];
    tree.depth = std::max(tree.depth, level[m]);
  }
  std::stable_sort(tree.down.begin(), tree.down.end(), [&](int a, int b) { return level[a] < level[b]; });
  tree.parent = std::move(parent);
  return tree;
}

}  // namespace

std::array<Tree, 2> two_trees(int n) {
  std::vector<int> first(n), second(n);
  for (int m = 0; m < n; ++m) {
    first[m] = parent_of(m, n);
    const int role = n % 2 == 0 ? n - 1 - m : (m + n - 1) % n;
    const int above = parent_of(role, n);
    second[m] = above < 0 ? -1 : n % 2 == 0 ? n - 1 - above : (above + 1) % n;
  }
  return {arranged(std::move(first)), arranged(std::move(second))};
}

int tree_depth(int n) {
  int depth = 0;
  while ((1 << depth) < n) ++depth;
  return depth;
}

int tree_chunks(double bytes, int depth) {
  constexpr double kChannels = 16, kSlot = 512 * 1024, kLeast = 128 * 1024, kMost = 128;
  const double slots = bytes / (kChannels * kSlot), small = bytes / (kChannels * kLeast);
  const double wanted = std::max(slots, std::min(8.0 * depth, small));
  return static_cast<int>(std::clamp(std::ceil(wanted), 1.0, kMost));
}

}  // namespace stepsim
