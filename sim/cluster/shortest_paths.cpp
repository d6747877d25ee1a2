// Shortest ways through a zone whose file writes some routes out and leaves the others to be found.
#include <functional>
#include <limits>
#include <queue>

#include "sim/cluster/zones.hpp"

namespace stepsim {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

std::int64_t length_of(const WrittenRoute& route) {
  return static_cast<std::int64_t>(route.links.size());
}

}  // namespace

// Floyd and Warshall's algorithm. Only a strictly shorter way replaces one, and intermediate stops are tried in the
// order of the zone's members, so that equal ways are chosen as SimGrid chooses them.
void find_floyd_paths(Zone& zone) {
  const std::size_t n = zone.members.size();
  std::vector<std::int64_t> length(n * n, kFar);
  zone.predecessor.assign(n * n, -1);
  for (const auto& [ends, route] : zone.routes) {
    const std::size_t cell = static_cast<std::size_t>(ends.first) * n + static_cast<std::size_t>(ends.second);
    length[cell] = length_of(route);
    zone.predecessor[cell] = ends.first;
  }
  for (std::size_t via = 0; via < n; ++via) {
    for (std::size_t from = 0; from < n; ++from) {
      const std::int64_t first = length[from * n + via];
      if (first == kFar) continue;
      for (std::size_t to = 0; to < n; ++to) {
        const std::int64_t second = length[via * n + to];
        if (second == kFar || first + second >= length[from * n + to]) continue;
        length[from * n + to] = first + second;
        zone.predecessor[from * n + to] = zone.predecessor[via * n + to];
      }
    }
  }
}

// Dijkstra's algorithm from every member. Of members equally near, the one that a route named first is taken first, as
// SimGrid does.
void find_dijkstra_paths(Zone& zone) {
  const std::size_t n = zone.members.size();
  zone.predecessor.assign(n * n, -1);
  std::vector<int> rank(n, 0);
  for (std::size_t i = 0; i < zone.named.size(); ++i) {
    rank[static_cast<std::size_t>(zone.named[i])] = static_cast<int>(i);
  }
  using Entry = std::pair<std::int64_t, int>;  // length, rank
  for (const int from : zone.named) {
    std::vector<std::int64_t> length(n, kFar);
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    length[static_cast<std::size_t>(from)] = 0;
    open.emplace(0, rank[static_cast<std::size_t>(from)]);
    while (!open.empty()) {
      const auto [near, at_rank] = open.top();
      open.pop();
      const int at = zone.named[static_cast<std::size_t>(at_rank)];
      if (near > length[static_cast<std::size_t>(at)]) continue;
      for (auto out = zone.routes.lower_bound({at, 0}); out != zone.routes.end() && out->first.first == at; ++out) {
        const auto to = static_cast<std::size_t>(out->first.second);
        if (near + length_of(out->second) >= length[to]) continue;
        length[to] = near + length_of(out->second);
        zone.predecessor[static_cast<std::size_t>(from) * n + to] = at;
        open.emplace(length[to], rank[to]);
      }
    }
  }
}

}  // namespace stepsim
