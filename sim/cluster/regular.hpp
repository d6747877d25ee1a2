// Networks that SimGrid builds from a few numbers: <cluster topology="TORUS"> and "FAT_TREE". Internal to this folder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/platform.hpp"

namespace stepsim {

// The two directions of one cable; the same link twice where it is shared between them.
struct Duplex {
  LinkId up = -1;
  LinkId down = -1;
};
using MakeDuplex = std::function<Duplex(const std::string& name)>;

class RegularNetwork {
 public:
  virtual ~RegularNetwork() = default;
  // The links from one host to another, by their numbers in the cluster; SimGrid's own choice.
  virtual void append(int from, int to, std::vector<LinkId>& links) const = 0;
};

// Hosts at the crossings of a grid that closes on itself; each is joined to its two neighbours in every dimension.
// Routes go through one dimension after the other, the shorter way round.
std::shared_ptr<const RegularNetwork> make_torus(const std::vector<int>& dimensions, const MakeDuplex& make);

// Levels of switches over the hosts, from below: how many children a switch of each level has, how many parents the
// nodes below it have, and how many cables join the two.
struct FatTreeShape {
  std::vector<int> children, parents, cables;  // [level], as many of each
};

// Routes go up to the first common switch: which parent is a matter of the destination (d mod k), then down.
std::shared_ptr<const RegularNetwork> make_fat_tree(const FatTreeShape& shape, const MakeDuplex& make);

}  // namespace stepsim
