// No contention: every transfer has its links to itself. A binary heap of events, ties in order of creation.
#include <queue>

#include "sim/engine/conductor.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/runs.hpp"

namespace stepsim {
namespace {

class IdealClock {
 public:
  using Handle = std::uint64_t;

  explicit IdealClock(const StepGraph& graph) : graph_(graph) {}

  double now() const { return now_; }
  void at(double seconds, const Event& event) { heap_.push({now_ + seconds, next_++, event}); }
  Handle at_cancellable(double seconds, const Event& event) {
    at(seconds, event);
    return next_ - 1;
  }
  void cancel(Handle& handle) { cancelled_.push_back(handle); }
  void move(const PartId& id, double bytes, const Event& event) {
    const Part& part = graph_.groups[id.group].patterns[id.pattern].parts[id.part];
    double per_byte = 0;
    for (const Load& load : part.loads) per_byte = std::max(per_byte, load.legs / graph_.links[load.link].capacity);
    at(bytes * per_byte, event);
  }

  template <class Handler>
  void run(Handler&& handler) {
    while (!heap_.empty()) {
      const Entry entry = heap_.top();
      heap_.pop();
      const auto dropped = std::find(cancelled_.begin(), cancelled_.end(), entry.sequence);
      if (dropped != cancelled_.end()) {
        cancelled_.erase(dropped);
        continue;
      }
      now_ = entry.date;
      handler(entry.event);
    }
  }

 private:
  struct Entry {
    double date;
    std::uint64_t sequence;
    Event event;
    bool operator<(const Entry& o) const { return date != o.date ? date > o.date : sequence > o.sequence; }
  };

  const StepGraph& graph_;
  double now_ = 0;
  std::uint64_t next_ = 0;
  std::priority_queue<Entry> heap_;
  std::vector<std::uint64_t> cancelled_;  // few at a time: each is met before its date has passed
};

class IdealEngine : public Engine {
 public:
  Timeline run(const StepGraph& graph) override {
    require_sound(graph);
    const auto offsets = Conductor<IdealClock>::span_offsets(graph);
    std::vector<Span> spans(offsets.back());
    IdealClock clock(graph);
    Conductor<IdealClock> conductor(graph, clock, spans.data());
    conductor.start();
    clock.run([&](const Event& event) { conductor.handle(event); });
    conductor.require_finished();
    return cut_timeline(graph, spans.data(), conductor.end());
  }
};

}  // namespace

std::unique_ptr<Engine> make_ideal_engine() { return std::make_unique<IdealEngine>(); }

}  // namespace stepsim
