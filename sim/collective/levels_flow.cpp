// The messages of two-level collectives, one by one.
#include <algorithm>
#include <array>
#include <map>

#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"
#include "sim/collective/levels.hpp"
#include "sim/collective/two_trees.hpp"

namespace stepsim {
namespace {

using Messages = std::vector<MessageId>;

constexpr double kSwitchChunk = 128 * 1024;  // NCCL_NVLS_CHUNKSIZE's default (github.com/NVIDIA/nccl, src/transport/nvls.cc)

class LevelsFlow {
 public:
  LevelsFlow(const GroupCall& call, const Levels& levels)
      : levels_(levels),
        payload_(call.payload),
        nodes_(levels_nodes(call, levels)),
        m_(nodes_.size()),
        g_(nodes_[0].size()),
        flow_(call.cluster) {
    if (!levels.in_switch) return;
    const SwitchReduction& nvls = call.cluster.gpu.nvls;
    const double volume = levels.scatter && levels.gather ? 1 + 1.0 / static_cast<double>(g_) : 1;
    const double latency = switch_latency(nvls.latency, m_ == 1 ? call.cluster.gpu.node_steps() : nullptr, payload_, levels);
    flow_.join({}, latency, volume / nvls.port_rate().value);  // no faster than the switch
    begin_ = {flow_.join({}, latency)};
  }

  std::vector<Part> run() {
    if (m_ == 1) {
      one_node();
    } else if (levels_.trees) {
      trees();
    } else {
      ring();
    }
    return flow_.take();
  }

 private:
  // The last message on a connection, by lane, node and places, so that the next one goes behind it.
  using Last = std::map<std::array<std::size_t, 4>, MessageId>;
  MessageId& last_of(Last& last, std::size_t node, std::size_t from, std::size_t to) const {
    return last.try_emplace({lane_, node, from, to}, kNoMessage).first->second;
  }

  // A piece of the rail of place i comes together at node k.
  Messages collect(std::size_t k, std::size_t i, double bytes) {
    if (!levels_.scatter || g_ == 1) return begin_;
    if (levels_.in_switch) {
      MessageId& last = last_of(collected_, k, i, i);
      return {last = flow_.reduce(nodes_[k], i, bytes, begin_, last)};
    }
    Messages arrived;
    for (std::size_t j = 0; j < g_; ++j) {
      if (j == i) continue;
      MessageId& last = last_of(collected_, k, j, i);
      arrived.push_back(last = flow_.send(nodes_[k][j], nodes_[k][i], bytes, {}, last));
    }
    return arrived;
  }

  // A piece goes from place i of node k to its neighbours.
  void spread(std::size_t k, std::size_t i, double bytes, const Messages& after) {
    if (!levels_.gather || g_ == 1) return;
    if (levels_.in_switch) {
      MessageId& last = last_of(spread_, k, i, i);
      last = flow_.multicast(nodes_[k], i, bytes, after, last);
      return;
    }
    for (std::size_t j = 0; j < g_; ++j) {
      if (j == i) continue;
      MessageId& last = last_of(spread_, k, i, j);
      last = flow_.send(nodes_[k][i], nodes_[k][j], bytes, after, last);
    }
  }

  void one_node() {
    const double share = 1.0 / static_cast<double>(g_);
    const int chunks = levels_.scatter && levels_.gather ? chunks_of(payload_ * share) : 1;
    for (int q = 0; q < chunks; ++q) {
      for (std::size_t i = 0; i < g_; ++i) spread(0, i, share / chunks, collect(0, i, share / chunks));
    }
  }

  // A chunk of every block of a rail.
  struct Piece {
    std::size_t rail;
    std::vector<Messages> here;  // [node] what it has last received
  };

  static Messages joined(Messages messages, const Messages& more) {
    messages.insert(messages.end(), more.begin(), more.end());
    return messages;
  }

  // Reducing takes the ports one way in the switch and multicasting the other: the buffer goes round in loops of a few
  // chunks, so that one loop's gather is there beside the next one's scatter.
  void ring() {
    const double block = 1.0 / static_cast<double>(m_ * g_);
    const bool both_ways = levels_.in_switch && levels_.scatter && levels_.gather;
    const int chunks = levels_.in_switch ? chunks_of(payload_ * block, 64, kSwitchChunk) : chunks_of(payload_ * block);
    const int at_once = both_ways ? std::min(chunks, 4) : chunks, loops = (chunks + at_once - 1) / at_once;
    for (int loop = 0; loop < loops; ++loop) ring_once(at_once, block / (at_once * loops));
  }

  // A step moves all chunks of a block on, so that the first can go on further while the others still move. Block b of
  // a rail's 1/g comes together on its way from node b + 1 round to node b: node k first sends block k - 1. Then it
  // goes round again from node b.
  void ring_once(int chunks, double bytes) {
    std::vector<Piece> pieces;
    for (std::size_t p = 0; p < static_cast<std::size_t>(chunks) * g_; ++p)
      pieces.push_back({p % g_, std::vector<Messages>(m_)});
    for (std::size_t s = 0; levels_.scatter && s + 1 < m_; ++s) {
      for (Piece& piece : pieces) {
        for (std::size_t k = 0; k < m_; ++k) piece.here[k] = joined(collect(k, piece.rail, bytes), piece.here[k]);
        pass_on(piece, bytes);
      }
    }
    for (Piece& piece : pieces) {
      for (std::size_t k = 0; k < m_; ++k) {
        Messages& here = piece.here[k];
        here = joined(collect(k, piece.rail, bytes), here);
        if (here.size() > 1) here = {flow_.join(std::move(here))};
      }
    }
    for (std::size_t s = 0; levels_.gather && s < m_; ++s) {
      for (Piece& piece : pieces) {
        for (std::size_t k = 0; k < m_; ++k) spread(k, piece.rail, bytes, piece.here[k]);
        if (s + 1 < m_) pass_on(piece, bytes);
      }
    }
  }

  // Every node sends what it has here to the next.
  void pass_on(Piece& piece, double bytes) {
    std::vector<Messages> next(m_);
    for (std::size_t k = 0; k < m_; ++k) {
      const std::size_t to = (k + 1) % m_;
      MessageId& last = last_of(rails_, k, piece.rail, piece.rail);
      last = flow_.send(nodes_[k][piece.rail], nodes_[to][piece.rail], bytes, std::move(piece.here[k]), last);
      next[to] = {last};
    }
    piece.here = std::move(next);
  }

  // An all-reduce: chunks flow up both trees of every rail and down again.
  void trees() {
    const int n = static_cast<int>(m_), chunks = tree_chunks(payload_, tree_depth(n));
    const double bytes = 1.0 / (2.0 * static_cast<double>(g_) * chunks);
    const auto both = two_trees(n);
    for (int q = 0; q < chunks; ++q) {
      for (std::size_t t = 0; t < 2; ++t) {
        lane_ = t;
        for (std::size_t i = 0; i < g_; ++i) chunk(both[t], i, bytes);
      }
    }
  }

  void chunk(const Tree& tree, std::size_t i, double bytes) {
    std::vector<Messages> here(m_);
    for (auto k = tree.down.rbegin(); k != tree.down.rend(); ++k) {
      const auto node = static_cast<std::size_t>(*k);
      Messages whole = collect(node, i, bytes);
      whole.insert(whole.end(), here[node].begin(), here[node].end());
      if (tree.parent[node] < 0) {
        here[node] = std::move(whole);
        continue;
      }
      const auto above = static_cast<std::size_t>(tree.parent[node]);
      MessageId& last = last_of(up_, node, i, i);
      here[above].push_back(last = flow_.send(nodes_[node][i], nodes_[above][i], bytes, std::move(whole), last));
      here[node].clear();
    }
    for (const int k : tree.down) {
      const auto node = static_cast<std::size_t>(k);
      if (tree.parent[node] >= 0) {
        const auto above = static_cast<std::size_t>(tree.parent[node]);
        MessageId& last = last_of(rails_, node, i, i);
        here[node] = {last = flow_.send(nodes_[above][i], nodes_[node][i], bytes, here[above], last)};
      }
      spread(node, i, bytes, here[node]);
    }
  }

  Levels levels_;
  double payload_;
  Nodes nodes_;
  std::size_t m_, g_;
  Flow flow_;
  Messages begin_;
  std::size_t lane_ = 0;
  Last collected_, spread_, rails_, up_;
};

}  // namespace

std::vector<Part> levels_messages(const GroupCall& call, const Levels& levels) {
  return LevelsFlow(call, levels).run();
}

}  // namespace stepsim
