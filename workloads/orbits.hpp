// Inside make_step: ranks that replicas of the model make alike, known before the step's graph is built.
//
// Turning the data degree's number (0 1 2 3 -> 1 2 3 0, or within runs of it: 0 1 | 2 3 -> 1 0 | 3 2) moves every rank to
// another. Where that moves groups onto groups, programs onto programs and the cluster onto itself, ranks, groups and
// links that go onto each other behave alike, and the graph needs one of each. Nothing is approximated: the graph is a
// folded one (sim/graph/fold.hpp), and folding it further gives what the graph of all ranks folds to.
#pragma once

#include <vector>

#include "sim/cluster/cluster.hpp"
#include "workloads/grid.hpp"
#include "workloads/replicas.hpp"

namespace stepsim {

struct Turn {
  std::vector<RankId> rank;  // [rank] where it goes
  std::vector<LinkId> link;  // [link] likewise; -1: no route crosses it
  int order = 1;             // times until all are back
};

// Lists of ranks that form groups of one kind, and where each rank stands in them.
class Lists {
 public:
  Lists(const RankLists& lists, int world);
  const RankLists& lists() const { return lists_; }
  int of(RankId rank) const { return list_of_[static_cast<std::size_t>(rank)]; }  // -1: in none
  // Whether every list goes onto itself, in any order, or onto another one, member by member.
  bool move_by(const std::vector<RankId>& to) const;

 private:
  const RankLists& lists_;
  std::vector<int> list_of_, place_in_;  // [rank]
};

class Orbits {
 public:
  // Every rank and link by itself.
  explicit Orbits(const ClusterSpec& cluster);
  // Without links that the ranks cannot reach; what turns of the data degree make alike, on the cluster and on the one that
  // algorithms are chosen on. A rank is in at most one list of a kind.
  Orbits(const ClusterSpec& cluster, const ClusterSpec& planned_on, const Grid& grid, const std::vector<std::int32_t>& program,
         const std::vector<Lists>& kinds);

  const std::vector<Turn>& turns() const { return turns_; }
  int ranks_of_one() const { return size_; }                                                // all orbits of ranks are of one size
  RankId first(RankId rank) const { return first_[static_cast<std::size_t>(rank)]; }        // of its orbit
  LinkId first_link(LinkId link) const { return first_link_[static_cast<std::size_t>(link)]; }  // -1: no route between ranks crosses it
  int links_of_one(LinkId link) const { return links_[static_cast<std::size_t>(link)]; }    // in its orbit; of first links

 private:
  void find_first_ranks();
  void find_first_links();

  std::vector<Turn> turns_;
  int size_ = 1;
  std::vector<RankId> first_;
  std::vector<LinkId> first_link_;
  std::vector<int> links_;
};

}  // namespace stepsim
