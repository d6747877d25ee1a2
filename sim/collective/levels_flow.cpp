// The messages of two-level collectives, one by one.
#include <algorithm>

#include "sim/collective/flow.hpp"
#include "sim/collective/legs.hpp"
#include "sim/collective/levels.hpp"
#include "sim/collective/two_trees.hpp"

namespace stepsim {
namespace {

using Messages = std::vector<MessageId>;

// The last message on each connection between two places, so that the next one goes behind it.
class Connections {
 public:
  Connections(std::size_t a, std::size_t b, std::size_t c) : b_(b), c_(c), last_(a * b * c, kNoMessage) {}
  MessageId& operator()(std::size_t a, std::size_t b, std::size_t c) { return last_[(a * b_ + b) * c_ + c]; }

 private:
  std::size_t b_, c_;
  std::vector<MessageId> last_;
};

class LevelsFlow {
 public:
  LevelsFlow(const GroupCall& call, const Levels& levels)
      : levels_(levels),
        payload_(call.payload),
        nodes_(levels_nodes(call, levels)),
        m_(nodes_.size()),
        g_(nodes_[0].size()),
        flow_(call.cluster),
        collected_(m_, g_, g_),
        spread_(m_, g_, g_) {
    if (!levels.in_switch) return;
    const SwitchReduction& nvls = call.cluster.gpu.nvls;
    const double volume = levels.scatter && levels.gather ? 1 + 1.0 / static_cast<double>(g_) : 1;
    flow_.join({}, nvls.latency.value, volume / nvls.port_rate().value);  // no faster than the switch
    begin_ = {flow_.join({}, nvls.latency.value)};
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
  // A piece of the rail of place i comes together at node k.
  Messages collect(std::size_t k, std::size_t i, double bytes) {
    if (!levels_.scatter || g_ == 1) return begin_;
    if (levels_.in_switch) {
      MessageId& last = collected_(k, i, 0);
      return {last = flow_.reduce(nodes_[k], i, bytes, begin_, last)};
    }
    Messages arrived;
    for (std::size_t j = 0; j < g_; ++j) {
      if (j == i) continue;
      MessageId& last = collected_(k, j, i);
      arrived.push_back(last = flow_.send(nodes_[k][j], nodes_[k][i], bytes, {}, last));
    }
    return arrived;
  }

  // A piece goes from place i of node k to its neighbours.
  void spread(std::size_t k, std::size_t i, double bytes, const Messages& after) {
    if (!levels_.gather || g_ == 1) return;
    if (levels_.in_switch) {
      MessageId& last = spread_(k, i, 0);
      last = flow_.multicast(nodes_[k], i, bytes, after, last);
      return;
    }
    for (std::size_t j = 0; j < g_; ++j) {
      if (j == i) continue;
      MessageId& last = spread_(k, i, j);
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

  // Block b of a rail's 1/g comes together on its way from node b + 1 round to node b: node k first sends block k - 1.
  // Then it goes round again from node b.
  void ring() {
    const double block = 1.0 / static_cast<double>(m_ * g_);
    const int chunks = chunks_of(payload_ * block);
    const double bytes = block / chunks;
    Connections rails(g_, m_, 1), pieces(g_, m_, static_cast<std::size_t>(chunks));
    Connections next = pieces;
    const auto q_of = [&](int q) { return static_cast<std::size_t>(q); };
    const auto step = [&](std::size_t i, std::size_t k, int q, Messages after) {
      MessageId& last = rails(i, k, 0);
      last = flow_.send(nodes_[k][i], nodes_[(k + 1) % m_][i], bytes, std::move(after), last);
      next(i, (k + 1) % m_, q_of(q)) = last;
    };
    const auto arrived = [&](std::size_t i, std::size_t k, int q, Messages also) {
      if (pieces(i, k, q_of(q)) != kNoMessage) also.push_back(pieces(i, k, q_of(q)));
      return also;
    };
    const auto all = [&](const auto& act) {
      for (std::size_t i = 0; i < g_; ++i) {
        for (std::size_t k = 0; k < m_; ++k) {
          for (int q = 0; q < chunks; ++q) act(i, k, q);
        }
      }
    };
    if (levels_.scatter) {
      for (std::size_t s = 0; s + 1 < m_; ++s) {
        all([&](std::size_t i, std::size_t k, int q) { step(i, k, q, arrived(i, k, q, collect(k, i, bytes))); });
        pieces = next;
      }
    }
    all([&](std::size_t i, std::size_t k, int q) {
      Messages whole = arrived(i, k, q, collect(k, i, bytes));
      if (whole.size() > 1) whole = {flow_.join(std::move(whole))};
      pieces(i, k, q_of(q)) = whole.empty() ? kNoMessage : whole[0];
    });
    if (!levels_.gather) return;
    for (std::size_t s = 0; s < m_; ++s) {
      all([&](std::size_t i, std::size_t k, int q) {
        const Messages here = arrived(i, k, q, {});
        if (s + 1 < m_) step(i, k, q, here);
        spread(k, i, bytes, here);
      });
      pieces = next;
    }
  }

  // An all-reduce: chunks flow up both trees of every rail and down again.
  void trees() {
    const int n = static_cast<int>(m_), chunks = tree_chunks(payload_ / static_cast<double>(g_), tree_depth(n));
    const double bytes = 1.0 / (2.0 * static_cast<double>(g_) * chunks);
    const auto both = two_trees(n);
    Connections up(2, m_, g_), down(2, m_, g_);
    for (int q = 0; q < chunks; ++q) {
      for (std::size_t t = 0; t < 2; ++t) {
        for (std::size_t i = 0; i < g_; ++i) chunk(both[t], t, i, bytes, up, down);
      }
    }
  }

  void chunk(const Tree& tree, std::size_t t, std::size_t i, double bytes, Connections& up, Connections& down) {
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
      MessageId& last = up(t, node, i);
      here[above].push_back(last = flow_.send(nodes_[node][i], nodes_[above][i], bytes, std::move(whole), last));
      here[node].clear();
    }
    for (const int k : tree.down) {
      const auto node = static_cast<std::size_t>(k);
      if (tree.parent[node] >= 0) {
        const auto above = static_cast<std::size_t>(tree.parent[node]);
        MessageId& last = down(t, node, i);
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
  Connections collected_, spread_;
};

}  // namespace

std::vector<Part> levels_messages(const GroupCall& call, const Levels& levels) {
  return LevelsFlow(call, levels).run();
}

}  // namespace stepsim
