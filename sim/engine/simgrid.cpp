// Links are shared by max-min fairness: the only file that sees SimGrid.
//
// SimGrid is given only what shares links that are not enough for all: a part of a collective is one Comm over all its
// links (a route that lists each link once a leg). A part whose links could carry all that moves over them at the rates
// of parts that are alone (wide links between switches most often can) is slowed by nobody: it moves at a known rate, so
// it starts as an event like compute ops and latencies, and becomes a Comm only when another part crowds one of its
// links. Nothing changes by that: max-min fairness slows no part that has no crowded link, and a link that is not
// crowded slows none.
//
// Settings: CM02 without TCP window and cross traffic takes capacity and bytes as they are; latencies of links are zero
// here, since plain CM02 shares a link in inverse proportion to route latency, and are paid before the bytes move.
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <cmath>
#include <memory>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/engine/child.hpp"
#include "sim/engine/conductor.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/movers.hpp"
#include "sim/engine/route_table.hpp"
#include "sim/engine/runs.hpp"

namespace stepsim {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::timer::Timer;

// SimGrid counts a payload in whole bytes. Payloads and capacities are given to it in parts of a byte, so that rounding
// stays below 1e-12 of any transfer of more than a megabyte, and below 1e-6 bytes of any.
constexpr double kPartsOfAByte = 1 << 20;

// All routes of a graph in one Full zone: h hosts give h (h - 1) routes.
class Network {
 public:
  Network(const StepGraph& graph, const RouteTable& table) {
    sg::NetZone* zone = sg::create_full_zone("network");
    for (std::size_t l = 0; l < graph.links.size(); ++l) {
      sg::Link* link = zone->create_link(fmt::format("link{}", l), in_parts(graph.links[l].capacity));
      link->set_latency(0);
      link->seal();
      links_.push_back(link);
    }
    make_routes(zone, table.routes());
    zone->seal();
  }

  struct Ends {
    sg::Host* from = nullptr;
    sg::Host* to = nullptr;
  };
  const Ends& ends(int route) const { return ends_[route]; }
  void set_capacity(LinkId link, double capacity) { links_[link]->set_bandwidth(in_parts(capacity)); }

 private:
  // Nothing is ever sent over a link that is down, but SimGrid wants a bandwidth.
  static double in_parts(double capacity) { return (capacity > 0 ? capacity : 1) * kPartsOfAByte; }

  void make_routes(sg::NetZone* zone, const std::vector<Route>& routes) {
    std::size_t n = 2;
    while (n * (n - 1) < routes.size()) ++n;
    std::vector<sg::Host*> hosts;
    for (std::size_t h = 0; h < n; ++h) {
      hosts.push_back(zone->create_host(fmt::format("end{}", h), 1e9));
      hosts.back()->seal();
    }
    for (std::size_t i = 0; i < routes.size(); ++i) {
      const std::size_t from = i / (n - 1);
      std::size_t to = i % (n - 1);
      if (to >= from) ++to;
      ends_.push_back({hosts[from], hosts[to]});
      std::vector<sg::LinkInRoute> list;
      for (std::size_t k = 0; k < routes[i].links.size(); ++k) {
        const auto times = static_cast<std::size_t>(std::llround(routes[i].legs[k] / routes[i].divisor));
        list.insert(list.end(), times, sg::LinkInRoute(links_[routes[i].links[k]]));
      }
      if (list.empty()) continue;
      zone->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, list, false);
    }
  }

  std::vector<Ends> ends_;  // [route]
  std::vector<sg::Link*> links_;
};

// Own events wait in a heap, ties in order of creation. While nothing is shared the clock runs by itself; SimGrid is
// woken for Comms, and while there are some it leads and an alarm calls the next own event.
class SimgridClock : public Movers<SimgridClock> {
 public:
  static constexpr bool contended = true;
  using Handle = std::uint64_t;

  SimgridClock(const StepGraph& graph, RouteTable& table, Network& network)
      : Movers(graph, table), network_(network), on_link_(graph.links.size()) {
    sg::Activity::on_completion_cb([this](const sg::Activity& activity) { completed(activity); });
  }

  void set_handler(std::function<void(const Event&)> handler) { handler_ = std::move(handler); }

  double now() const { return now_; }
  void at(double seconds, const Event& event) { push(now_ + seconds, {event, -1}); }
  Handle at_cancellable(double seconds, const Event& event) { return push(now_ + seconds, {event, -1}); }
  void cancel(Handle& handle) { cancelled_.insert(handle); }

  // Events as far as they come without SimGrid; then SimGrid is set to call again.
  void advance() {
    for (;;) {
      if (!pending_.empty() && !start_pending()) return;
      drop_cancelled();
      if (heap_.empty()) return;
      const double date = heap_.top().date;
      if (!shared_.empty() && date > now_) return set_alarm(date);
      const What what = heap_.top().what;
      heap_.pop();
      if (date > now_) now_ += date - now_;
      handler_(what.mover < 0 ? what.event : arrived(what.mover));
    }
  }

 private:
  friend class Movers<SimgridClock>;

  struct What {
    Event event;
    int mover;  // that moves freely, whose last byte arrives; -1: an event
  };
  struct Entry {
    double date;
    std::uint64_t sequence;
    What what;
    bool operator<(const Entry& o) const { return date != o.date ? date > o.date : sequence > o.sequence; }
  };
  // How a part moves: freely at its route's rate, or as a Comm.
  struct Motion {
    bool free = false;
    Handle arrival = 0;
    double rate = 0, since = 0;
    sg::CommPtr comm;
  };

  Handle push(double date, const What& what) {
    heap_.push({date, next_entry_, what});
    return next_entry_++;
  }

  void drop_cancelled() {
    while (!cancelled_.empty() && !heap_.empty() && cancelled_.erase(heap_.top().sequence) > 0) heap_.pop();
  }

  // SimGrid's clock must come here before a Comm can start. It adds differences, which is exact where its time at most
  // doubles. false: it will call.
  bool start_pending() {
    const double behind = sg::Engine::get_clock();
    if (behind < now_) {
      const double next = behind > 0 ? std::min(now_, 2 * behind) : now_;
      Timer::set(next, [this, next] {
        if (next == now_) now_ = sg::Engine::get_clock();
        advance();
      });
      return false;
    }
    std::vector<int> starting;
    starting.swap(pending_);
    for (const int index : starting) start_shared(index);
    return true;
  }

  void set_alarm(double date) {
    if (alarm_ != nullptr && alarm_date_ == date) return;
    if (alarm_ != nullptr) alarm_->remove();
    alarm_date_ = date;
    alarm_ = Timer::set(date, [this] {
      alarm_ = nullptr;
      now_ = sg::Engine::get_clock();
      advance();
    });
  }

  void begin(int index) {
    motions_.resize(movers().size());
    const Route& route = route_at(index);
    motions_[index].rate = route.rate;
    bool free = true;
    for (std::size_t k = 0; k < route.links.size(); ++k) {
      OnLink& on = on_link_[route.links[k]];
      ++on.moving;
      on.wanted += route.legs[k] * route.rate;
      if (on.wanted <= capacity(route.links[k]) * kRounding) continue;
      free = false;
      while (!on.free.empty()) share(on.free.back());
    }
    if (free) {
      begin_free(index);
    } else {
      begin_shared(index);
    }
  }

  void begin_free(int index) {
    Motion& motion = motions_[index];
    for (const LinkId l : route_at(index).links) on_link_[l].free.push_back(index);
    motion.free = true;
    motion.since = now_;
    motion.arrival = push(now_ + movers()[index].left / motion.rate, {{}, index});
  }

  Event arrived(int index) {
    leave(index);
    return finish(index);
  }

  void begin_shared(int index) {
    if (sg::Engine::get_clock() < now_) {
      pending_.push_back(index);
    } else {
      start_shared(index);
    }
  }

  void start_shared(int index) {
    const auto parts = std::llround(movers()[index].left * route_at(index).divisor * kPartsOfAByte);
    const Network::Ends& ends = network_.ends(movers()[index].route);
    sg::CommPtr comm = sg::Comm::sendto_init(ends.from, ends.to);
    comm->set_payload_size(static_cast<std::uint64_t>(std::max(parts, 1LL)));
    comm->vetoable_start();
    shared_.emplace(comm.get(), index);
    motions_[index].comm = std::move(comm);
  }

  // One of its links is crowded: from now on SimGrid shares them.
  void share(int index) {
    movers()[index].left = halt_free(index);
    begin_shared(index);
  }

  double halt_free(int index) {
    Motion& motion = motions_[index];
    cancel(motion.arrival);
    be_free_no_more(index);
    return std::max(movers()[index].left - motion.rate * (now_ - motion.since), 0.0);
  }

  double halt(int index) {
    Motion& motion = motions_[index];
    double left = movers()[index].left;
    if (motion.free) {
      left = halt_free(index);
    } else if (std::erase(pending_, index) == 0) {
      left = motion.comm->get_remaining() / (route_at(index).divisor * kPartsOfAByte);
      shared_.erase(motion.comm.get());
      motion.comm->cancel();
      if (now_ > halted_at_) halted_.clear();  // their callbacks have come
      halted_at_ = now_;
      halted_.push_back(std::move(motion.comm));
    }
    leave(index);
    return left;
  }

  // A Comm never goes faster than the slowest link of its route did when it started: one whose link becomes faster has
  // to start again.
  bool feels_change(int index, double before, double after) const { return !motions_[index].free && after <= before; }
  void capacity_changed(LinkId link, double capacity) {
    if (capacity > 0) network_.set_capacity(link, capacity);
  }

  void completed(const sg::Activity& activity) {
    finished_.clear();  // never the activity whose callback this is
    const auto it = shared_.find(&activity);
    if (it == shared_.end()) return;
    now_ = sg::Engine::get_clock();
    const int index = it->second;
    shared_.erase(it);
    finished_.push_back(std::move(motions_[index].comm));
    handler_(arrived(index));
    drop_cancelled();
    if (!heap_.empty()) set_alarm(heap_.top().date);
  }

  void leave(int index) {
    const Route& route = route_at(index);
    for (std::size_t k = 0; k < route.links.size(); ++k) {
      OnLink& on = on_link_[route.links[k]];
      on.wanted = --on.moving == 0 ? 0 : on.wanted - route.legs[k] * motions_[index].rate;
    }
    if (motions_[index].free) be_free_no_more(index);
  }

  void be_free_no_more(int index) {
    for (const LinkId l : route_at(index).links) {
      std::vector<int>& free = on_link_[l].free;
      *std::find(free.begin(), free.end(), index) = free.back();
      free.pop_back();
    }
    motions_[index].free = false;
  }

  // What moves over a link.
  struct OnLink {
    int moving = 0;          // parts
    double wanted = 0;       // bytes/s, if each had its route to itself
    std::vector<int> free;   // movers
  };
  static constexpr double kRounding = 1 + 1e-10;

  Network& network_;
  std::function<void(const Event&)> handler_;
  double now_ = 0;
  std::priority_queue<Entry> heap_;
  std::uint64_t next_entry_ = 0;
  std::unordered_set<Handle> cancelled_;
  Timer* alarm_ = nullptr;  // SimGrid's, for the next own event
  double alarm_date_ = 0;
  std::vector<OnLink> on_link_;
  std::vector<Motion> motions_;  // [mover]
  std::vector<int> pending_;     // movers that start as Comms as soon as SimGrid's clock is here
  std::unordered_map<const sg::Activity*, int> shared_;
  std::vector<sg::CommPtr> finished_, halted_;  // held until their callbacks are over
  double halted_at_ = 0;
};

void simulate(const StepGraph& graph, const std::vector<Span*>& spans, double* end, double* carried) {
  std::vector<std::string> words = {"stepsim",
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/TCP-gamma:0",
                                    "--cfg=network/crosstraffic:0",
                                    "--cfg=surf/precision:1e-12",
                                    "--log=root.thres:warning"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  sg::Engine engine(&argc, argv.data());
  RouteTable table(graph, SimgridClock::contended);
  Network network(graph, table);
  SimgridClock clock(graph, table, network);
  Conductor<SimgridClock> conductor(graph, clock, spans);
  clock.set_handler([&](const Event& event) { conductor.handle(event); });
  conductor.start();
  clock.advance();
  engine.run();
  conductor.require_finished();
  *end = conductor.end();
  std::copy(clock.carried().begin(), clock.carried().end(), carried);
}

// In a child, since SimGrid allows one simulation in a process; it hands back its times in memory that both share.
void run_beside(const StepGraph& graph, Timeline& timeline) {
  SharedArray<Span> shared(timeline.events);
  SharedArray<double> end(1), carried(timeline.link_bytes.size());
  std::vector<Span*> spans;
  Span* next = shared.data();
  for (const std::vector<Span>& of_rank : timeline.spans) {
    spans.push_back(next);
    next += of_rank.size();
  }
  run_in_child([&] { simulate(graph, spans, end.data(), carried.data()); });
  timeline.end = end[0];
  for (std::size_t r = 0; r < spans.size(); ++r) std::copy_n(spans[r], timeline.spans[r].size(), timeline.spans[r].begin());
  std::copy_n(carried.data(), timeline.link_bytes.size(), timeline.link_bytes.begin());
}

class SimgridEngine : public Engine {
 public:
  Timeline run(const StepGraph& graph) override {
    require_sound(graph);
    Timeline timeline = blank_timeline(graph);
    if (!graph.reroutings.empty()) timeline.link_bytes.resize(graph.links.size());
    if (simulates_here()) {
      simulate(graph, spans_of(timeline), &timeline.end, timeline.link_bytes.data());
    } else {
      run_beside(graph, timeline);
    }
    return timeline;
  }
};

}  // namespace

std::unique_ptr<Engine> make_simgrid_engine() { return std::make_unique<SimgridEngine>(); }

}  // namespace stepsim
