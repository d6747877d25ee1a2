// Two binary trees over n members such that a member with children in one is a leaf of the other (Sanders, Speck,
// Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009; NCCL's
// double binary tree). Each tree takes half of the buffer, so that every member sends and receives about as much as any
// other.
#pragma once

#include <array>
#include <vector>

namespace stepsim {

struct Tree {
  std::vector<int> parent;    // [member]; -1: the root
  std::vector<int> down;      // members, each after its parent
  std::vector<int> children;  // [member] how many
  int depth = 0;              // edges from the root to the farthest leaf
};

// n >= 1. In the first tree member 0 is the root and odd members are leaves; the second is its mirror image, or shifted
// by one where n is odd.
std::array<Tree, 2> two_trees(int n);

// Depth of both: ceil(log2 n).
int tree_depth(int n);

// Into how many chunks each half of a buffer is cut to flow through trees of so many hops there and back, after NCCL:
// 16 channels (assumption; NCCL takes 2 to 32) with slots of 512 KiB, which it makes smaller, down to 128 KiB, until
// there are eight chunks a level. At most 128, which is what those slots make of a GiB.
int tree_chunks(double bytes, int depth);

}  // namespace stepsim
