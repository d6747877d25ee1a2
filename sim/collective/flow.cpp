#include "sim/collective/flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {

constexpr std::size_t kMostMessages = 1 << 20;

MessageId Flow::add(Part part, std::vector<MessageId> after, MessageId behind) {
  if (parts_.size() >= kMostMessages) {
    throw InputError({{"", 0, "--detail",
                       fmt::format("flow makes more than {} messages of one collective; use aggregate, or fewer ranks",
                                   kMostMessages)}});
  }
  part.after = std::move(after);
  part.behind = behind;
  parts_.push_back(std::move(part));
  return static_cast<MessageId>(parts_.size()) - 1;
}

MessageId Flow::send(RankId from, RankId to, double bytes_per_payload, std::vector<MessageId> after, MessageId behind,
                     std::optional<double> latency) {
  const auto [it, fresh] = ways_.try_emplace({from, to});
  if (fresh) {
    Legs legs(cluster_);
    legs.add(from, to);
    it->second = {legs.take(), legs.latency()};
  }
  Part part;
  part.loads = it->second.loads;
  part.alpha = latency.value_or(it->second.latency);
  part.bytes_per_payload = bytes_per_payload;
  return add(std::move(part), std::move(after), behind);
}

MessageId Flow::reduce(std::span<const RankId> node, std::size_t to, double bytes_per_payload,
                       std::vector<MessageId> after, MessageId behind) {
  Legs legs(cluster_);
  for (std::size_t i = 0; i < node.size(); ++i) legs.add_port(node, i, 1, i == to ? 1 : 0);
  return add(make_part(legs, bytes_per_payload, 0), std::move(after), behind);
}

MessageId Flow::multicast(std::span<const RankId> node, std::size_t from, double bytes_per_payload,
                          std::vector<MessageId> after, MessageId behind) {
  Legs legs(cluster_);
  for (std::size_t i = 0; i < node.size(); ++i) legs.add_port(node, i, i == from ? 1 : 0, 1);
  return add(make_part(legs, bytes_per_payload, 0), std::move(after), behind);
}

MessageId Flow::join(std::vector<MessageId> after, double seconds, double seconds_per_payload_byte) {
  Part part;
  part.alpha = seconds;
  part.beta = seconds_per_payload_byte;
  return add(std::move(part), std::move(after), kNoMessage);
}

int chunks_of(double bytes, int most, double slot) {
  return static_cast<int>(std::clamp(std::ceil(bytes / slot), 1.0, most * 1.0));
}

}  // namespace stepsim
