// The messages of an algorithm, one by one (detail flow): each is a part of the pattern that names those it waits for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/graph/step_graph.hpp"

namespace stepsim {

using MessageId = std::int32_t;
inline constexpr MessageId kNoMessage = -1;

class Flow {
 public:
  explicit Flow(const ClusterSpec& cluster) : cluster_(cluster) {}

  // A message; returns its number. Its latency (the route's, when none is given) begins when all of `after` have
  // arrived, its bytes move when those of `behind` have. All throw InputError when the messages become too many to be
  // simulated one by one.
  MessageId send(RankId from, RankId to, double bytes_per_payload, std::vector<MessageId> after = {},
                 MessageId behind = kNoMessage, std::optional<double> latency = {});
  // In-switch reduction: the node's members all send, the member of this place receives their sum.
  MessageId reduce(std::span<const RankId> node, std::size_t to, double bytes_per_payload, std::vector<MessageId> after,
                   MessageId behind);
  // In-switch multicast: the member of this place sends, all members of the node receive.
  MessageId multicast(std::span<const RankId> node, std::size_t from, double bytes_per_payload,
                      std::vector<MessageId> after, MessageId behind);
  // No message: has arrived so many seconds after all of `after` have.
  MessageId join(std::vector<MessageId> after, double seconds = 0, double seconds_per_payload_byte = 0);

  std::vector<Part> take() { return std::move(parts_); }

 private:
  MessageId add(Part part, std::vector<MessageId> after, MessageId behind);
  struct Way {
    std::vector<Load> loads;
    double latency = 0;
  };
  const ClusterSpec& cluster_;
  std::map<std::pair<RankId, RankId>, Way> ways_;
  std::vector<Part> parts_;
};

// Into how many chunks a message of so many bytes is cut where it passes through several hands: NCCL's slots hold
// 512 KiB, but no more than `most`: 16 keep what pipelining leaves out below a hundredth of most calls.
int chunks_of(double bytes, int most = 16, double slot = 512 * 1024);

}  // namespace stepsim
