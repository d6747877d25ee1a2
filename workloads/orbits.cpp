#include "workloads/orbits.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/cluster/moved.hpp"

namespace stepsim {
namespace {

std::vector<int> divisors_of(int n) {
  std::vector<int> divisors;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// Ranks count up by so many from one data replica to the next.
int data_stride(const Grid& grid) {
  int rank = 0;
  while (grid.place[static_cast<std::size_t>(rank)].data == 0) ++rank;
  return rank;
}

// Turns runs of `length` replicas by `step`.
std::vector<RankId> turned(const Grid& grid, int stride, int step, int length) {
  std::vector<RankId> to(static_cast<std::size_t>(grid.world));
  for (RankId r = 0; r < grid.world; ++r) {
    const int data = grid.place[static_cast<std::size_t>(r)].data;
    const bool last = data % length + step >= length;
    to[static_cast<std::size_t>(r)] = r + stride * (last ? step - length : step);
  }
  return to;
}

}  // namespace

Lists::Lists(const RankLists& lists, int world)
    : lists_(lists), list_of_(static_cast<std::size_t>(world), -1), place_in_(static_cast<std::size_t>(world), -1) {
  for (std::size_t g = 0; g < lists.size(); ++g) {
    for (std::size_t i = 0; i < lists[g].size(); ++i) {
      const auto rank = static_cast<std::size_t>(lists[g][i]);
      list_of_[rank] = static_cast<int>(g);
      place_in_[rank] = static_cast<int>(i);
    }
  }
}

bool Lists::move_by(const std::vector<RankId>& to) const {
  for (std::size_t g = 0; g < lists_.size(); ++g) {
    const auto& list = lists_[g];
    const int other = of(to[static_cast<std::size_t>(list[0])]);
    if (other < 0 || lists_[static_cast<std::size_t>(other)].size() != list.size()) return false;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto rank = static_cast<std::size_t>(to[static_cast<std::size_t>(list[i])]);
      if (list_of_[rank] != other) return false;
      if (other != static_cast<int>(g) && place_in_[rank] != static_cast<int>(i)) return false;
    }
  }
  return true;
}

Orbits::Orbits(const ClusterSpec& cluster)
    : first_(static_cast<std::size_t>(cluster.ranks())), first_link_(cluster.bandwidth.size()), links_(cluster.bandwidth.size(), 1) {
  std::iota(first_.begin(), first_.end(), 0);
  std::iota(first_link_.begin(), first_link_.end(), 0);
}

Orbits::Orbits(const ClusterSpec& cluster, const ClusterSpec& planned_on, const Grid& grid, const std::vector<std::int32_t>& program,
               const std::vector<Lists>& kinds)
    : Orbits(cluster) {
  const std::vector<bool> within = links_within_reach(cluster);
  for (std::size_t l = 0; l < within.size(); ++l) {
    if (!within[l]) first_link_[l] = -1;
  }
  if (grid.data == 1) return;
  const int stride = data_stride(grid);
  const bool as_planned = planned_on.bandwidth == cluster.bandwidth && planned_on.latency == cluster.latency;
  const auto turn = [&](int step, int length) -> std::optional<Turn> {
    Turn found{turned(grid, stride, step, length), {}, length / step};
    for (std::size_t r = 0; r < program.size(); ++r) {
      if (program[static_cast<std::size_t>(found.rank[r])] != program[r]) return std::nullopt;
    }
    const bool onto = std::all_of(kinds.begin(), kinds.end(), [&](const Lists& lists) { return lists.move_by(found.rank); });
    if (!onto) return std::nullopt;
    auto links = links_moved(cluster, found.rank);
    if (!links || (!as_planned && !links_moved(planned_on, found.rank))) return std::nullopt;
    found.link = std::move(*links);
    return found;
  };
  // The longest runs that turn; then runs of those runs, and so on.
  const std::vector<int> divisors = divisors_of(grid.data);
  int run = 1;  // replicas that have been turned
  for (const int step : divisors) {
    if (step % run != 0) continue;
    for (auto length = divisors.rbegin(); *length > step; ++length) {
      if (*length % step != 0) continue;
      std::optional<Turn> found = turn(step, *length);
      if (!found) continue;
      turns_.push_back(std::move(*found));
      run = *length;
      break;
    }
  }
  if (turns_.empty()) return;
  find_first_ranks();
  find_first_links();
}

// Turns move all ranks and go in any order: each multiplies the size of all orbits.
void Orbits::find_first_ranks() {
  for (const Turn& turn : turns_) {
    size_ *= turn.order;
    std::vector<RankId> lowest(first_.size(), -1);
    for (std::size_t r = 0; r < lowest.size(); ++r) {  // upwards, so that r is the lowest of those not seen yet
      for (auto at = static_cast<RankId>(r); lowest[static_cast<std::size_t>(at)] < 0; at = turn.rank[static_cast<std::size_t>(at)]) {
        lowest[static_cast<std::size_t>(at)] = static_cast<RankId>(r);
      }
    }
    for (RankId& first : first_) first = lowest[static_cast<std::size_t>(first)];
  }
}

void Orbits::find_first_links() {
  std::iota(first_link_.begin(), first_link_.end(), 0);
  const auto root = [&](LinkId link) {
    while (first_link_[static_cast<std::size_t>(link)] != link) {
      LinkId& parent = first_link_[static_cast<std::size_t>(link)];
      link = parent = first_link_[static_cast<std::size_t>(parent)];
    }
    return link;
  };
  for (const Turn& turn : turns_) {
    for (std::size_t l = 0; l < turn.link.size(); ++l) {
      if (turn.link[l] < 0) continue;
      const LinkId a = root(static_cast<LinkId>(l)), b = root(turn.link[l]);
      first_link_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  std::fill(links_.begin(), links_.end(), 0);
  for (std::size_t l = 0; l < first_link_.size(); ++l) {
    if (turns_[0].link[l] < 0) {
      first_link_[l] = -1;
      continue;
    }
    first_link_[l] = root(static_cast<LinkId>(l));
    ++links_[static_cast<std::size_t>(first_link_[l])];
  }
}

}  // namespace stepsim
