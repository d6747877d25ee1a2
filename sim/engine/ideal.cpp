// No contention: every transfer has its links to itself. A binary heap of events, ties in order of creation.
#include <queue>
#include <set>

#include "sim/engine/conductor.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/movers.hpp"
#include "sim/engine/route_table.hpp"
#include "sim/engine/runs.hpp"

namespace stepsim {
namespace {

class IdealClock : public Movers<IdealClock> {
 public:
  using Handle = std::uint64_t;
  static constexpr bool contended = false;

  IdealClock(const StepGraph& graph, RouteTable& table) : Movers(graph, table) {}

  double now() const { return now_; }
  void at(double seconds, const Event& event) { push(seconds, {event, -1}); }
  Handle at_cancellable(double seconds, const Event& event) { return push(seconds, {event, -1}); }
  void cancel(Handle& handle) { cancelled_.insert(handle); }

  template <class Handler>
  void run(Handler&& handler) {
    while (!heap_.empty()) {
      const Entry entry = heap_.top();
      heap_.pop();
      if (cancelled_.erase(entry.sequence) > 0) continue;
      now_ = entry.date;
      handler(entry.what.mover < 0 ? entry.what.event : finish(entry.what.mover));
    }
  }

 private:
  friend class Movers<IdealClock>;

  struct What {
    Event event;
    int mover;  // whose last byte arrives; -1: an event
  };
  struct Entry {
    double date;
    std::uint64_t sequence;
    What what;
    bool operator<(const Entry& o) const { return date != o.date ? date > o.date : sequence > o.sequence; }
  };
  struct Motion {
    Handle handle = 0;
    double rate = 0, since = 0;
  };

  Handle push(double seconds, const What& what) {
    heap_.push({now_ + seconds, next_, what});
    return next_++;
  }

  void begin(int index) {
    motions_.resize(movers().size());
    const double rate = route_at(index).rate;
    motions_[index] = {push(movers()[index].left / rate, {{}, index}), rate, now_};
  }
  double halt(int index) {
    cancel(motions_[index].handle);
    return std::max(movers()[index].left - motions_[index].rate * (now_ - motions_[index].since), 0.0);
  }
  bool feels_change(int, double, double) const { return false; }
  void capacity_changed(LinkId, double) {}

  double now_ = 0;
  std::uint64_t next_ = 0;
  std::priority_queue<Entry> heap_;
  std::set<std::uint64_t> cancelled_;
  std::vector<Motion> motions_;  // [mover]
};

class IdealEngine : public Engine {
 public:
  Timeline run(const StepGraph& graph) override {
    require_sound(graph);
    Timeline timeline = blank_timeline(graph);
    RouteTable table(graph, IdealClock::contended);
    IdealClock clock(graph, table);
    Conductor<IdealClock> conductor(graph, clock, spans_of(timeline));
    conductor.start();
    clock.run([&](const Event& event) { conductor.handle(event); });
    conductor.require_finished();
    timeline.end = conductor.end();
    timeline.link_bytes = clock.carried();
    return timeline;
  }
};

}  // namespace

std::unique_ptr<Engine> make_ideal_engine() { return std::make_unique<IdealEngine>(); }

}  // namespace stepsim
