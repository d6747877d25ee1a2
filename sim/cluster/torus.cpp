#include <fmt/format.h>

#include "sim/cluster/regular.hpp"

namespace stepsim {
namespace {

class Torus final : public RegularNetwork {
 public:
  Torus(const std::vector<int>& dimensions, const MakeDuplex& make) : dimensions_(dimensions) {
    int nodes = 1;
    for (const int size : dimensions) nodes *= size;
    for (int node = 0; node < nodes; ++node) {
      int stride = 1;
      for (const int size : dimensions) {
        cables_.push_back(make(fmt::format("link_from_{}_to_{}", node, next(node, stride, size, true))));
        stride *= size;
      }
    }
  }

  void append(int from, int to, std::vector<LinkId>& links) const override {
    int stride = 1;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      const int size = dimensions_[d];
      const bool rightwards = goes_right(from / stride % size, to / stride % size, size);
      while (from / stride % size != to / stride % size) {
        const int neighbour = next(from, stride, size, rightwards);
        // A node owns its cables to the right; going left uses the neighbour's.
        links.push_back(rightwards ? cable(from, d).up : cable(neighbour, d).down);
        from = neighbour;
      }
      stride *= size;
    }
  }

 private:
  static int next(int node, int stride, int size, bool rightwards) {
    const int at = node / stride % size;
    const int to = rightwards ? (at + 1) % size : (at + size - 1) % size;
    return node + (to - at) * stride;
  }

  // The shorter way round; where both are equal SimGrid's choice depends on where it starts.
  static bool goes_right(int at, int to, int size) {
    const int half = size / 2;
    return (to > at && to <= at + half) || (at > half && (at + half) % size >= to);
  }

  const Duplex& cable(int node, std::size_t dimension) const {
    return cables_[static_cast<std::size_t>(node) * dimensions_.size() + dimension];
  }

  std::vector<int> dimensions_;
  std::vector<Duplex> cables_;  // [node * dimensions + dimension]: to the right neighbour
};

}  // namespace

std::shared_ptr<const RegularNetwork> make_torus(const std::vector<int>& dimensions, const MakeDuplex& make) {
  return std::make_shared<Torus>(dimensions, make);
}

}  // namespace stepsim
