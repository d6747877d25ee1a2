#include "sim/collective/two_stage.hpp"

#include <algorithm>

#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"

namespace stepsim {
namespace {

class TwoStageFlow {
 public:
  TwoStageFlow(const GroupCall& call, const TwoStages& stages)
      : stages_(stages),
        nodes_(by_node(call.cluster, call.members)),
        m_(static_cast<int>(nodes_.size())),
        g_(static_cast<int>(nodes_[0].size())),
        flow_(call.cluster),
        last_rail_(static_cast<std::size_t>(m_ * g_), kNoMessage),
        last_inside_(static_cast<std::size_t>(m_ * g_ * g_), kNoMessage) {
    double most = 0;
    for (int to = 1; to < m_; ++to) most = std::max(most, stages.rail(0, to, 0));
    // NCCL cuts what all-to-alls send over the network smaller than its slots (NCCL_P2P_NET_CHUNKSIZE). A stage waits
    // for the other's first or last chunk, and between few nodes there is not much else to hide that behind.
    chunks_ = chunks_of(call.payload * most, std::max(16, 64 / std::max(m_ - 1, 1)), 128 * 1024);
  }

  std::vector<Part> run() {
    // What stays in the node moves while the rails wait for the first chunk, or need nothing more from it.
    if (!stages_.inside_first) pieces(0, 1);
    for (int distance = 1; distance < m_; ++distance) pieces(distance, chunks_);
    if (stages_.inside_first) pieces(0, 1);
    return flow_.take();
  }

 private:
  using Messages = std::vector<MessageId>;

  RankId rank(int node, int place) const {
    return nodes_[static_cast<std::size_t>(node)][static_cast<std::size_t>(place)];
  }

  MessageId inside(int node, int other, int from, int to, Messages after) {
    const double bytes = stages_.inside(node, other, from, to) / (node == other ? 1 : chunks_);
    if (from == to || bytes <= 0) return kNoMessage;
    MessageId& last = last_inside_[static_cast<std::size_t>((node * g_ + from) * g_ + to)];
    return last = flow_.send(rank(node, from), rank(node, to), bytes, std::move(after), last);
  }

  MessageId rail(int from, int to, int place, Messages after) {
    const double bytes = stages_.rail(from, to, place) / chunks_;
    if (bytes <= 0) return kNoMessage;
    MessageId& last = last_rail_[static_cast<std::size_t>(from * g_ + place)];
    return last = flow_.send(rank(from, place), rank(to, place), bytes, std::move(after), last);
  }

  void pieces(int distance, int chunks) {
    for (int q = 0; q < chunks; ++q) {
      for (int node = 0; node < m_; ++node) piece(node, (node + distance) % m_);
    }
  }

  // A chunk from all of a node's members to another node's.
  void piece(int from, int to) {
    for (int place = 0; place < g_; ++place) {
      if (from == to) {
        for (int other = 0; other < g_; ++other) inside(from, from, place, other, {});
      } else if (stages_.inside_first) {
        Messages here;
        for (int other = 0; other < g_; ++other) {
          const MessageId sent = inside(from, to, other, place, {});
          if (sent != kNoMessage) here.push_back(sent);
        }
        rail(from, to, place, std::move(here));
      } else {
        const MessageId arrived = rail(from, to, place, {});
        for (int other = 0; other < g_ && arrived != kNoMessage; ++other) inside(to, from, place, other, {arrived});
      }
    }
  }

  const TwoStages& stages_;
  Nodes nodes_;
  int m_, g_, chunks_ = 1;
  Flow flow_;
  Messages last_rail_, last_inside_;
};

}  // namespace

std::vector<Part> two_stage_messages(const GroupCall& call, const TwoStages& stages) {
  return TwoStageFlow(call, stages).run();
}

}  // namespace stepsim
