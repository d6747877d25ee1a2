#include "sim/report/slack.hpp"

#include <algorithm>

namespace stepsim {
namespace {

// Walks all events from the last to the first: an event's turn comes when all that follow it have had theirs.
class Backward {
 public:
  Backward(const StepGraph& graph, const Timeline& timeline, const StepIndex& index)
      : graph_(graph), timeline_(timeline), calls_(index.calls), order_(index.order) {
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
      const auto p = static_cast<std::size_t>(graph.ranks[r].program);
      latest_.emplace_back(graph.programs[p].ops.size(), timeline.end);
      pending_.push_back(order_.followers(p));
    }
    for (const Group& group : graph.groups) {
      const std::size_t calls = group.endpoints.empty() ? 0 : calls_of(group.endpoints.front()).size();
      meetings_.emplace_back(calls, Meeting{timeline.end, static_cast<std::int32_t>(group.endpoints.size())});
    }
  }

  std::vector<std::vector<double>> run() {
    for (std::size_t r = 0; r < pending_.size(); ++r) {
      for (std::size_t i = 0; i < pending_[r].size(); ++i) {
        if (pending_[r][i] == 0) turns_.push_back({r, static_cast<std::int32_t>(i)});
      }
    }
    while (!turns_.empty()) {
      const Event event = turns_.back();
      turns_.pop_back();
      take(event);
    }
    for (std::size_t r = 0; r < latest_.size(); ++r) {
      for (std::size_t i = 0; i < latest_[r].size(); ++i) {
        latest_[r][i] = std::max(0.0, latest_[r][i] - timeline_.spans[r][i].end);  // rounding may leave -1e-16
      }
    }
    return std::move(latest_);
  }

 private:
  struct Event {
    std::size_t rank;
    std::int32_t op;
  };
  struct Meeting {
    double latest_end;
    std::int32_t missing;  // endpoints whose turn has not come
  };

  const std::vector<std::int32_t>& calls_of(const Endpoint& e) const {
    return calls_.calls(graph_.ranks[static_cast<std::size_t>(e.rank)].program, e.slot);
  }

  void take(Event event) {
    const OpView op = program_of(graph_, event.rank).ops[static_cast<std::size_t>(event.op)];
    double& latest = latest_[event.rank][static_cast<std::size_t>(event.op)];
    if (op.kind != OpKind::transfer) {
      release(event, latest);
      return;
    }
    const auto g = graph_.ranks[event.rank].slots[static_cast<std::size_t>(op.slot)];
    const auto number = static_cast<std::size_t>(calls_.number_of(graph_.ranks[event.rank].program, event.op));
    Meeting& meeting = meetings_[static_cast<std::size_t>(g)][number];
    meeting.latest_end = std::min(meeting.latest_end, latest);
    if (--meeting.missing > 0) return;
    for (const Endpoint& e : graph_.groups[static_cast<std::size_t>(g)].endpoints) {
      const Event member{static_cast<std::size_t>(e.rank), calls_of(e)[number]};
      latest_[member.rank][static_cast<std::size_t>(member.op)] = meeting.latest_end;
      release(member, meeting.latest_end);
    }
  }

  // What the event waited for must end before the event's latest start.
  void release(Event event, double latest_end) {
    const Span& span = timeline_.spans[event.rank][static_cast<std::size_t>(event.op)];
    const double latest_start = latest_end - (span.end - span.start);
    const auto p = static_cast<std::size_t>(graph_.ranks[event.rank].program);
    order_.each_before(p, event.op, [&](std::int32_t before) {
      const auto i = static_cast<std::size_t>(before);
      latest_[event.rank][i] = std::min(latest_[event.rank][i], latest_start);
      if (--pending_[event.rank][i] == 0) turns_.push_back({event.rank, before});
    });
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  const CallIndex& calls_;
  const OrderIndex& order_;
  std::vector<std::vector<double>> latest_;         // [rank][op] latest end
  std::vector<std::vector<std::int32_t>> pending_;  // [rank][op] followers whose turn has not come
  std::vector<std::vector<Meeting>> meetings_;      // [group][call]
  std::vector<Event> turns_;
};

}  // namespace

std::vector<std::vector<double>> slack_of(const StepGraph& graph, const Timeline& timeline, const StepIndex& index) {
  return Backward(graph, timeline, index).run();
}

}  // namespace stepsim
