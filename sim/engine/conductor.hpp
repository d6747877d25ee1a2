// What both engines share: walks the programs of all ranks, starts what is ready, lets groups meet, and notes times. It
// knows nothing of how bytes move; a Clock does:
//   double now()
//   void at(double seconds_from_now, Event)                -- one event later; seconds_from_now >= 0
//   Handle at_cancellable(double seconds_from_now, Event); void cancel(Handle&)
//   void move(const PartId&, double payload_bytes, Event)  -- moves a part's bytes over its links; latency is paid here
//   std::vector<Event> set_capacity(LinkId, double), reroute(std::int32_t routing)  -- from now on; what ended by that
//   std::vector<PartId> stalled(); double capacity(LinkId); std::int32_t routing()  -- parts that a dead link holds up
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/layout.hpp"
#include "sim/engine/part_order.hpp"
#include "sim/engine/route_table.hpp"
#include "sim/graph/changes.hpp"
#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"

namespace stepsim {

struct Event {
  enum class Kind : std::uint8_t {
    compute_done,
    delay_done,
    latency_paid,
    part_done,
    speed_changes,
    capacity_changes,
    rerouted,
  } kind = Kind::compute_done;
  std::uint8_t stream = 0;  // delay_done
  std::int32_t part = 0;    // latency_paid, part_done
  std::int32_t index = 0;   // rank, group or link
};

template <class Clock>
class Conductor {
 public:
  // Times go to spans[rank][op].
  Conductor(const StepGraph& graph, Clock& clock, const std::vector<Span*>& spans)
      : graph_(graph), clock_(clock), spans_(spans), events_(count_events(graph)), solo_(graph, Clock::contended), layouts_(graph, solo_), orders_(graph) {
    ranks_.resize(graph.ranks.size());
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
      const Layout& layout = layouts_.of(static_cast<RankId>(r));
      ranks_[r].layout = &layout;
      ranks_[r].first_stream = streams_.size();
      ranks_[r].pace = graph.ranks[r].speed;
      for (const std::vector<Step>& steps : layout.streams) {
        streams_.push_back({.next = steps.data(), .end = steps.data() + steps.size()});
      }
    }
    groups_.resize(graph.groups.size());
    for (std::size_t g = 0; g < graph.groups.size(); ++g) groups_[g].ready.reserve(graph.groups[g].endpoints.size());
  }

  void start() {
    await_changes();
    for (std::size_t r = 0; r < ranks_.size(); ++r) queue_.push_back(static_cast<RankId>(r));
    drain();
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::compute_done: finish(event.index, 0); break;
      case Event::Kind::delay_done: finish(event.index, event.stream); break;
      case Event::Kind::latency_paid: move_part(event.index, event.part); break;
      case Event::Kind::part_done:
        part_done(event.index, event.part);
        break;
      default:
        if (finished_ == events_) return;  // the step is over: nothing that changes now matters
        change(event);
    }
    drain();
  }

  std::uint64_t finished() const { return finished_; }
  double end() const { return end_; }

  // Throws StuckError that names the calls which dead links hold up, GraphError that names the first events that never
  // ran for another reason.
  void require_finished() const {
    if (finished_ == events_) return;
    if (const auto stalled = clock_.stalled(); !stalled.empty()) throw StuckError(describe_stuck(stalled));
    std::string text = fmt::format("{} of {} events never ran; the first that wait:", events_ - finished_, events_);
    int shown = 0;
    for (std::size_t r = 0; r < ranks_.size() && shown < 8; ++r) {
      const StreamState* const streams = streams_of(static_cast<RankId>(r));
      for (std::size_t s = 0; s < ranks_[r].layout->streams.size() && shown < 8; ++s) {
        const StreamState& stream = streams[s];
        if (stream.next == stream.end) continue;
        text += fmt::format("\n  {}{}", name_of(graph_, static_cast<RankId>(r), stream.next->op),
                            stream.busy ? " (waits for the other members)" : "");
        ++shown;
      }
    }
    throw GraphError(text);
  }

 private:
  using Step = Layout::Step;
  struct StreamState {
    const Step* next;  // the head: it runs, or it is what would run next
    const Step* end;
    std::int32_t done = 0;
    bool busy = false;
    // What the head is known to wait for: on that stream has to have ended so much. And so many of its waits are over.
    std::int16_t awaited = 0;
    std::int32_t until = 0;
    std::int32_t met = 0;
    double ready = 0, start = 0;  // of the head, when it runs
  };
  struct RankState {
    const Layout* layout = nullptr;
    std::size_t first_stream = 0;  // in streams_
    bool queued = true;
    double pace = 1;         // speed of the rank
    std::size_t changed = 0;  // so many of its speed changes are over
    // The running compute op, where its speed may change.
    int held_sms = 0;
    double left = 0, since = 0, speed = 1;  // seconds at full speed still to do; when that was; at which speed
    typename Clock::Handle timer{};
  };
  struct Ready {
    RankId rank;
    std::int32_t op;
    std::int16_t sms;
    std::uint8_t stream;
  };
  struct GroupState {
    std::vector<Ready> ready;
    int parts_left = 0;
    std::uint64_t calls = 0;  // before the present one
    double jitter = 1;        // of the present call
    const PartOrder* order = nullptr;  // of the running call; null: all parts at once
    PartOrder::Progress progress;
  };

  const Program& program_of(RankId r) const { return graph_.programs[graph_.ranks[r].program]; }
  StreamState* streams_of(RankId r) { return streams_.data() + ranks_[r].first_stream; }
  const StreamState* streams_of(RankId r) const { return streams_.data() + ranks_[r].first_stream; }
  Span& span(RankId r, std::int32_t op) { return spans_[r][op]; }

  void drain() {
    while (!queue_.empty()) {
      const RankId r = queue_.front();
      queue_.pop_front();
      ranks_[r].queued = false;
      const std::size_t n = ranks_[r].layout->streams.size();
      StreamState* const streams = streams_of(r);
      for (std::size_t s = 0; s < n; ++s) {
        if (!streams[s].busy && streams[streams[s].awaited].done >= streams[s].until) try_start(r, static_cast<std::uint8_t>(s), streams);
      }
    }
  }

  void enqueue(RankId r) {
    if (ranks_[r].queued) return;
    ranks_[r].queued = true;
    queue_.push_back(r);
  }

  void try_start(RankId r, std::uint8_t s, StreamState* streams) {
    StreamState& stream = streams[s];
    if (stream.next == stream.end) return;
    const Step& step = *stream.next;
    const Layout::Wait* const waits = ranks_[r].layout->waits.data();
    for (; step.first_wait + stream.met < step.last_wait; ++stream.met) {
      const Layout::Wait& wait = waits[step.first_wait + stream.met];
      if (streams[wait.stream].done >= wait.until) continue;
      stream.awaited = wait.stream;
      stream.until = wait.until;
      return;
    }
    stream.met = 0;
    stream.until = 0;
    stream.busy = true;
    if (step.first_link < step.last_link) return run_chain(r, step);
    stream.ready = stream.start = clock_.now();
    switch (step.kind) {
      case OpKind::compute: start_compute(r, step); break;
      case OpKind::delay:
        if (step.seconds > 0) {
          clock_.at(step.seconds, {Event::Kind::delay_done, s, 0, r});
        } else {
          finish(r, s);
        }
        break;
      case OpKind::transfer: arrive({r, step.op, step.sms, s}, graph_.ranks[r].slots[step.slot]); break;
    }
  }

  // The ops of a chain take as long as they do whatever else goes on: one event for all of them.
  void run_chain(RankId r, const Step& head) {
    const auto& ops = program_of(r).ops;
    const Layout& layout = *ranks_[r].layout;
    const double now = clock_.now();
    double end = run_alone(r, ops.spec(head.op), head.op, now);
    for (std::int32_t i = head.first_link; i < head.last_link; ++i) end = run_alone(r, ops.spec(layout.chained[i]), layout.chained[i], end);
    clock_.at(end - now, {Event::Kind::delay_done, ops.spec(head.op).stream, 0, r});
  }

  // Returns its end.
  double run_alone(RankId r, const OpSpec& op, std::int32_t i, double start) {
    const Rank& rank = graph_.ranks[r];
    double end = start;
    if (op.kind == OpKind::compute) {
      end += op.seconds / ranks_[r].pace;
    } else if (op.kind == OpKind::delay) {
      end += op.seconds;
    } else {
      end = solo_.end(rank.slots[op.slot], op.pattern, op.payload_bytes, start);
    }
    span(r, i) = {start, start, end};
    return end;
  }

  // The head of stream s of rank r is done, and what makes a chain with it.
  void finish(RankId r, std::uint8_t s) {
    StreamState* const streams = streams_of(r);
    const Step& step = *streams[s].next;
    const double now = clock_.now();
    pass(streams[s]);
    if (step.first_link == step.last_link) {
      const double start = streams[s].start;
      span(r, step.op) = {streams[s].ready, start, std::max(start, now)};
    } else {
      const std::int32_t* const chained = ranks_[r].layout->chained.data();
      for (std::int32_t i = step.first_link; i < step.last_link; ++i) pass(streams[program_of(r).ops.spec(chained[i]).stream]);
      Span& last = span(r, chained[step.last_link - 1]);
      last.end = std::max(last.start, now);
    }
    end_ = std::max(end_, now);
    if (step.kind == OpKind::compute) ranks_[r].left = 0;
    enqueue(r);
  }

  void pass(StreamState& stream) {
    ++stream.next;
    ++stream.done;
    stream.busy = false;
    stream.met = 0;
    stream.until = 0;
    ++finished_;
  }

  void start_compute(RankId r, const Step& step) {
    RankState& rank = ranks_[r];
    const double seconds = step.seconds * jitter_factor(graph_.jitter.compute_sigma, graph_.jitter.seed, r, step.op);
    if (!(seconds > 0)) return finish(r, 0);
    if (graph_.sms == 0 && graph_.ranks[r].speed_changes.empty()) {
      return clock_.at(seconds / rank.pace, {Event::Kind::compute_done, 0, 0, r});
    }
    rank.left = seconds;
    rank.since = clock_.now();
    rank.speed = rank.pace * speed_with_held(program_of(r).ops.spec(step.op), rank.held_sms);
    rank.timer = clock_.at_cancellable(seconds / rank.speed, {Event::Kind::compute_done, 0, 0, r});
  }

  // The running compute op goes on at the speed that the rank has now.
  void take_up_speed(RankId r) {
    RankState& rank = ranks_[r];
    if (rank.left <= 0) return;
    const OpSpec& op = program_of(r).ops.spec(streams_of(r)->next->op);
    const double now = clock_.now();
    const double speed = rank.pace * speed_with_held(op, rank.held_sms);
    if (speed == rank.speed) return;
    rank.left = std::max(0.0, rank.left - (now - rank.since) * rank.speed);
    rank.since = now;
    rank.speed = speed;
    clock_.cancel(rank.timer);
    rank.timer = clock_.at_cancellable(rank.left / speed, {Event::Kind::compute_done, 0, 0, r});
  }

  // Speed of a compute op while `held` SMs are taken away: its SM-bound part stretches, the rest does not.
  double speed_with_held(const OpSpec& op, int held) const {
    if (held == 0 || op.sm_seconds == 0) return 1;
    const double free = std::max(1, graph_.sms - held) / static_cast<double>(graph_.sms);
    return op.seconds / (op.sm_seconds / free + op.seconds - op.sm_seconds);
  }

  // Every transfer takes its SMs by itself.
  void hold_sms(RankId r, int sms) {
    if (sms == 0 || graph_.sms == 0) return;
    RankState& rank = ranks_[r];
    rank.held_sms += sms;
    take_up_speed(r);
  }

  void arrive(const Ready& last, GroupId g) {
    GroupState& state = groups_[g];
    state.ready.push_back(last);
    if (state.ready.size() < graph_.groups[g].endpoints.size()) return;
    const double now = clock_.now();
    for (const Ready& member : state.ready) {
      streams_of(member.rank)[member.stream].start = now;
      hold_sms(member.rank, member.sms);
    }
    const OpSpec& call = program_of(last.rank).ops.spec(last.op);
    const auto& parts = graph_.groups[g].patterns[call.pattern].parts;
    state.jitter = jitter_factor(graph_.jitter.communication_sigma, graph_.jitter.seed, ~static_cast<std::uint64_t>(g), state.calls++);
    state.parts_left = static_cast<int>(parts.size());
    if (parts.empty()) return finish_call(g);
    state.order = orders_.of(g, call.pattern);
    if (state.order != nullptr) state.order->begin(state.progress);
    const std::size_t n = parts.size();
    for (std::size_t p = 0; p < n; ++p) {
      if (parts[p].after.empty()) start_part(g, static_cast<std::int32_t>(p));
    }
  }

  const OpSpec& running_call(GroupId g) const {
    const Ready& member = groups_[g].ready.front();
    return program_of(member.rank).ops.spec(member.op);
  }

  void start_part(GroupId g, std::int32_t p) {
    const OpSpec& call = running_call(g);
    const Part& part = graph_.groups[g].patterns[call.pattern].parts[p];
    const double latency = groups_[g].jitter * (alpha_of(part, clock_.routing()) + part.beta * call.payload_bytes);
    if (latency > 0) {
      clock_.at(latency, {Event::Kind::latency_paid, 0, p, g});
    } else {
      move_part(g, p);
    }
  }

  void move_part(GroupId g, std::int32_t p) {
    GroupState& state = groups_[g];
    if (state.order != nullptr && !state.order->may_move(p, state.progress)) return;
    const OpSpec& call = running_call(g);
    const Part& part = graph_.groups[g].patterns[call.pattern].parts[p];
    const double bytes = state.jitter * part.bytes_per_payload * call.payload_bytes;
    if (part.loads.empty() || part.counted_only || !(bytes > 0)) {
      if (state.order == nullptr) return part_done(g, p);
      return clock_.at(0, {Event::Kind::part_done, 0, p, g});  // a chain of such parts would recurse
    }
    clock_.move({g, call.pattern, p}, bytes, {Event::Kind::part_done, 0, p, g});
  }

  void part_done(GroupId g, std::int32_t p) {
    GroupState& state = groups_[g];
    if (--state.parts_left == 0) return finish_call(g);
    if (state.order == nullptr) return;
    const PartOrder& order = *state.order;
    order.end(p, state.progress);
    for (const std::int32_t q : order.followers(p)) {
      if (state.progress.held[q]) move_part(g, q);
    }
    for (const std::int32_t q : order.successors(p)) {
      if (--state.progress.waits[q] == 0) start_part(g, q);
    }
  }

  void finish_call(GroupId g) {
    std::vector<Ready> members;
    members.swap(groups_[g].ready);
    for (const Ready& member : members) {
      hold_sms(member.rank, -member.sms);
      finish(member.rank, member.stream);
    }
    members.clear();
    members.swap(groups_[g].ready);  // keeps the capacity
  }

  // The first change of each thing that changes; each change then awaits the next.
  void await_changes() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) await({Event::Kind::speed_changes, 0, 0, static_cast<RankId>(r)}, graph_.ranks[r].speed_changes, 0);
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      if (graph_.links[l].capacity_changes.empty()) continue;
      capacity_changed_[static_cast<LinkId>(l)] = 0;
      await({Event::Kind::capacity_changes, 0, 0, static_cast<LinkId>(l)}, graph_.links[l].capacity_changes, 0);
    }
    await({Event::Kind::rerouted}, graph_.reroutings, 0);
  }

  template <class ChangeList>
  void await(const Event& event, const ChangeList& changes, std::size_t next) {
    if (next < changes.size()) clock_.at(std::max(0.0, changes[next].time - clock_.now()), event);
  }

  void change(const Event& event) {
    if (event.kind == Event::Kind::speed_changes) {
      const auto& changes = graph_.ranks[event.index].speed_changes;
      RankState& rank = ranks_[event.index];
      rank.pace = changes[rank.changed++].value;
      take_up_speed(event.index);
      await(event, changes, rank.changed);
    } else if (event.kind == Event::Kind::capacity_changes) {
      const auto& changes = graph_.links[event.index].capacity_changes;
      std::size_t& changed = capacity_changed_[event.index];
      end_parts(clock_.set_capacity(event.index, changes[changed++].value));
      await(event, changes, changed);
    } else {
      end_parts(clock_.reroute(graph_.reroutings[rerouted_++].routing));
      await(event, graph_.reroutings, rerouted_);
    }
  }

  void end_parts(const std::vector<Event>& ended) {
    for (const Event& event : ended) part_done(event.index, event.part);
  }

  std::string describe_stuck(const std::vector<PartId>& stalled) const {
    std::set<std::int32_t> groups;
    std::string lines;
    for (const PartId& id : stalled) {
      if (!groups.insert(id.group).second || groups.size() > kMostShown) continue;
      lines += "\n  " + describe_stalled(id);
    }
    if (groups.size() > kMostShown) lines += fmt::format("\n  and {} more", groups.size() - kMostShown);
    return fmt::format("the step cannot finish: links are down for good, and nothing goes round them. {} of {} events "
                       "never end; {} that wait{} for a dead link:{}",
                       events_ - finished_, events_,
                       groups.size() == 1 ? "the call" : fmt::format("the {} calls", groups.size()),
                       groups.size() == 1 ? "s" : "", lines);
  }

  // "rank 17 op 4 all_to_all in group expert 0-63 ...: nic17_up is down since 3 s"
  std::string describe_stalled(const PartId& id) const {
    const Group& group = graph_.groups[id.group];
    const Ready& member = groups_[id.group].ready.front();
    std::string text = fmt::format("{}, {} GPUs", name_of(graph_, member.rank, member.op), group.size);
    if (group.count > 1) text += fmt::format(" (and {} groups alike)", group.count - 1);
    std::string_view between = ": ";
    int shown = 0;
    for (const Load& load : loads_of(group.patterns[id.pattern].parts[id.part], clock_.routing())) {
      if (clock_.capacity(load.link) > 0 || ++shown > 4) continue;
      const GraphLink& link = graph_.links[load.link];
      const double since = link.capacity_changes.empty() ? 0 : link.capacity_changes.back().time;
      text += fmt::format("{}{} is down {}", between, link.name, since > 0 ? fmt::format("since {:g} s", since) : "from the start");
      between = ", ";
    }
    return text;
  }

  static constexpr std::size_t kMostShown = 8;
  const StepGraph& graph_;
  Clock& clock_;
  std::vector<Span*> spans_;
  std::uint64_t events_;
  SoloCalls solo_;
  Layouts layouts_;
  std::vector<RankState> ranks_;
  std::vector<StreamState> streams_;  // of all ranks
  std::vector<GroupState> groups_;
  PartOrders orders_;
  std::deque<RankId> queue_;
  std::uint64_t finished_ = 0;
  double end_ = 0;
  std::map<LinkId, std::size_t> capacity_changed_;  // so many of its changes are over
  std::size_t rerouted_ = 0;                        // so many reroutings are over
};

}  // namespace stepsim
