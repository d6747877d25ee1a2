#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/cluster/regular.hpp"

namespace stepsim {
namespace {

// A node of level l has one digit a level: below l, which of the alternative parents led to it; from l on, which child
// it is. Digits make its number in the level, the first one varying fastest. Parent and child differ in one digit.
class FatTree final : public RegularNetwork {
 public:
  FatTree(FatTreeShape shape, const MakeDuplex& make) : shape_(std::move(shape)) {
    for (std::size_t level = 0; level < levels(); ++level) {
      first_.push_back(cables_.size());
      int nodes = 1;
      for (std::size_t i = 0; i < levels(); ++i) nodes *= radix(level, i);
      for (int node = 0; node < nodes; ++node) {
        for (int parent = 0; parent < shape_.parents[level]; ++parent) {
          for (int cable = 0; cable < shape_.cables[level]; ++cable) {
            cables_.push_back(make(fmt::format("link_{}_{}_to_{}_{}", level, node, parent, cable)));
          }
        }
      }
    }
  }

  void append(int from, int to, std::vector<LinkId>& links) const override {
    std::vector<int> at = digits(from);
    const std::vector<int> target = digits(to);
    std::size_t level = 0;
    while (level == 0 || !std::equal(at.begin() + static_cast<std::ptrdiff_t>(level), at.end(),
                                     target.begin() + static_cast<std::ptrdiff_t>(level))) {
      climb(level, at, to, links);
    }
    descend(level, at, from, target, links);
  }

 private:
  std::size_t levels() const { return shape_.children.size(); }
  int radix(std::size_t level, std::size_t digit) const {
    return digit >= level ? shape_.children[digit] : shape_.parents[digit];
  }

  std::vector<int> digits(int host) const {
    std::vector<int> result;
    for (const int children : shape_.children) {
      result.push_back(host % children);
      host /= children;
    }
    return result;
  }

  const Duplex& cable(std::size_t level, const std::vector<int>& child, int parent, int number) const {
    int node = 0;
    for (std::size_t i = levels(); i-- > 0;) node = node * radix(level, i) + child[i];
    const int index = (node * shape_.parents[level] + parent) * shape_.cables[level] + number;
    return cables_[first_[level] + static_cast<std::size_t>(index)];
  }

  // SimGrid 3.32 divides by the parents of the levels below, not by their cables as well.
  void climb(std::size_t& level, std::vector<int>& at, int to, std::vector<LinkId>& links) const {
    int choice = to;
    for (std::size_t i = 0; i < level; ++i) choice /= shape_.parents[i];
    choice %= shape_.parents[level] * shape_.cables[level];
    const int parent = choice % shape_.parents[level];
    links.push_back(cable(level, at, parent, choice / shape_.parents[level]).up);
    at[level] = parent;
    ++level;
  }

  // SimGrid looks for the child's port from the cable that the source prefers on; one look can lead down several
  // levels, each going on where the last one stopped.
  void descend(std::size_t level, std::vector<int>& at, int from, const std::vector<int>& target,
               std::vector<LinkId>& links) const {
    while (level > 0) {
      int port = from % shape_.cables[level - 1] * shape_.children[level - 1];
      for (; level > 0 && port < shape_.children[level - 1] * shape_.cables[level - 1]; ++port) {
        if (port % shape_.children[level - 1] != target[level - 1]) continue;
        const int number = port / shape_.children[level - 1];
        const int parent = at[level - 1];
        at[level - 1] = target[level - 1];
        links.push_back(cable(level - 1, at, parent, number).down);
        --level;
      }
    }
  }

  FatTreeShape shape_;
  std::vector<Duplex> cables_;
  std::vector<std::size_t> first_;  // [level] of its nodes' ways up
};

}  // namespace

std::shared_ptr<const RegularNetwork> make_fat_tree(const FatTreeShape& shape, const MakeDuplex& make) {
  return std::make_shared<FatTree>(shape, make);
}

}  // namespace stepsim
