// Links are shared by max-min fairness: the only file that sees SimGrid.
//
// SimGrid is given only what is running: compute ops and latencies are kernel timers, and a part of a collective is one
// Comm over all its links (a route that lists each link once a leg). A part that has all its links to itself moves at a
// known rate, so it starts as a timer and becomes a Comm only when another part wants one of its links.
//
// Settings: CM02 without TCP window and cross traffic takes capacity and bytes as they are; latencies of links are zero
// here, since plain CM02 shares a link in inverse proportion to route latency, and are paid before the bytes move.
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "sim/engine/child.hpp"
#include "sim/engine/conductor.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/runs.hpp"

namespace stepsim {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::timer::Timer;

// SimGrid counts a payload in whole bytes. Payloads and capacities are given to it in parts of a byte, so that rounding
// stays below 1e-12 of any transfer of more than a megabyte, and below 1e-6 bytes of any.
constexpr double kPartsOfAByte = 1 << 20;

// The links of a part, as SimGrid sees them.
struct Route {
  std::vector<LinkId> links;  // each once
  double rate = 0;            // bytes/s along a leg when alone
  double divisor = 1;         // of the legs, here and wherever the route could meet another: so many times the bytes
                              // over so many times fewer legs is the same to SimGrid, and fair to all
  sg::Host* from = nullptr;
  sg::Host* to = nullptr;
};

// All routes of a graph in one Full zone: h hosts give h (h - 1) routes.
class Network {
 public:
  explicit Network(const StepGraph& graph) : graph_(graph) {
    sg::NetZone* zone = sg::create_full_zone("network");
    collect_routes();
    make_links(zone);
    make_hosts(zone);
    zone->seal();
  }

  const Route& route(const PartId& id) const { return routes_[route_of_[id.group][id.pattern][id.part]]; }

 private:
  using LegList = std::vector<std::pair<LinkId, double>>;

  void collect_routes() {
    std::map<LegList, int> known;
    for (const Group& group : graph_.groups) {
      auto& of_group = route_of_.emplace_back();
      for (const Pattern& pattern : group.patterns) {
        auto& of_pattern = of_group.emplace_back();
        for (const Part& part : pattern.parts) {
          LegList legs;
          for (const Load& load : part.loads) legs.emplace_back(load.link, load.legs);
          std::sort(legs.begin(), legs.end());
          const auto [it, fresh] = known.try_emplace(legs, static_cast<int>(routes_.size()));
          if (fresh) {
            routes_.push_back(make_route(legs));
            legs_.push_back(std::move(legs));
          }
          of_pattern.push_back(it->second);
        }
      }
    }
    find_divisors();
  }

  Route make_route(const LegList& legs) const {
    Route route;
    for (const auto& [link, count] : legs) {
      route.links.push_back(link);
      const double rate = graph_.links[link].capacity / count;
      route.rate = route.links.size() == 1 ? rate : std::min(route.rate, rate);
    }
    return route;
  }

  // Fairness is between messages, so legs may only be divided by what divides all legs of all routes that meet: the
  // greatest common divisor over each set of links that routes join.
  void find_divisors() {
    std::vector<LinkId> parent(graph_.links.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](LinkId l) {
      while (parent[l] != l) l = parent[l] = parent[parent[l]];
      return l;
    };
    for (const LegList& legs : legs_) {
      for (const auto& [link, count] : legs) parent[root(link)] = root(legs[0].first);
    }
    std::vector<std::int64_t> divisor(graph_.links.size(), 0);
    for (const LegList& legs : legs_) {
      for (const auto& [link, count] : legs) divisor[root(link)] = std::gcd(divisor[root(link)], std::llround(count));
    }
    for (std::size_t i = 0; i < legs_.size(); ++i) {
      if (!legs_[i].empty()) routes_[i].divisor = static_cast<double>(divisor[root(legs_[i][0].first)]);
    }
  }

  void make_links(sg::NetZone* zone) {
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      sg::Link* link = zone->create_link(fmt::format("link{}", l), graph_.links[l].capacity * kPartsOfAByte);
      link->set_latency(0);
      link->seal();
      links_.push_back(link);
    }
  }

  void make_hosts(sg::NetZone* zone) {
    std::size_t n = 2;
    while (n * (n - 1) < routes_.size()) ++n;
    for (std::size_t h = 0; h < n; ++h) {
      hosts_.push_back(zone->create_host(fmt::format("end{}", h), 1e9));
      hosts_.back()->seal();
    }
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      Route& route = routes_[i];
      const std::size_t from = i / (n - 1);
      std::size_t to = i % (n - 1);
      if (to >= from) ++to;
      route.from = hosts_[from];
      route.to = hosts_[to];
      std::vector<sg::LinkInRoute> list;
      for (const auto& [link, count] : legs_[i]) {
        list.insert(list.end(), static_cast<std::size_t>(std::llround(count / route.divisor)), sg::LinkInRoute(links_[link]));
      }
      if (list.empty()) continue;
      zone->add_route(route.from->get_netpoint(), route.to->get_netpoint(), nullptr, nullptr, list, false);
    }
    legs_.clear();
  }

  const StepGraph& graph_;
  std::vector<Route> routes_;
  std::vector<std::vector<std::vector<int>>> route_of_;  // [group][pattern][part]
  std::vector<LegList> legs_;                            // [route], until the zone has them
  std::vector<sg::Link*> links_;
  std::vector<sg::Host*> hosts_;
};

class SimgridClock {
 public:
  using Handle = Timer*;

  SimgridClock(const StepGraph& graph, const Network& network)
      : network_(network), flows_on_(graph.links.size(), 0), solo_on_(graph.links.size(), -1) {
    sg::Activity::on_completion_cb([this](const sg::Activity& activity) { completed(activity); });
  }

  void set_handler(std::function<void(const Event&)> handler) { handler_ = std::move(handler); }

  double now() const { return sg::Engine::get_clock(); }
  void at(double seconds, const Event& event) { at_cancellable(seconds, event); }
  Handle at_cancellable(double seconds, const Event& event) {
    return Timer::set(now() + seconds, [this, event] { handler_(event); });
  }
  void cancel(Handle& handle) { handle->remove(); }

  void move(const PartId& id, double bytes, const Event& event) {
    const Route& route = network_.route(id);
    bool alone = true;
    for (const LinkId l : route.links) {
      alone = alone && flows_on_[l] == 0;
      ++flows_on_[l];
    }
    if (alone) return move_alone(route, bytes, event);
    for (const LinkId l : route.links) {
      if (solo_on_[l] >= 0) share(solo_on_[l]);
    }
    move_shared(route, bytes, event);
  }

 private:
  struct Solo {
    const Route* route = nullptr;
    double bytes = 0, since = 0;
    Event event{};
    Timer* timer = nullptr;
  };
  struct Flow {
    sg::CommPtr comm;
    const Route* route = nullptr;
    Event event{};
  };

  void move_alone(const Route& route, double bytes, const Event& event) {
    int index = 0;
    if (free_solos_.empty()) {
      index = static_cast<int>(solos_.size());
      solos_.emplace_back();
    } else {
      index = free_solos_.back();
      free_solos_.pop_back();
    }
    for (const LinkId l : route.links) solo_on_[l] = index;
    solos_[index] = {&route, bytes, now(), event, nullptr};
    solos_[index].timer = Timer::set(now() + bytes / route.rate, [this, index] {
      const Event done = solos_[index].event;
      leave(*solos_[index].route);
      forget_solo(index);
      handler_(done);
    });
  }

  // Another part wants one of this one's links: from now on SimGrid shares them.
  void share(int index) {
    const Solo solo = solos_[index];
    solo.timer->remove();
    forget_solo(index);
    const double left = solo.bytes - solo.route->rate * (now() - solo.since);
    move_shared(*solo.route, std::max(left, 0.0), solo.event);
  }

  void forget_solo(int index) {
    for (const LinkId l : solos_[index].route->links) solo_on_[l] = -1;
    free_solos_.push_back(index);
  }

  void move_shared(const Route& route, double bytes, const Event& event) {
    const auto parts = std::llround(bytes * route.divisor * kPartsOfAByte);
    sg::CommPtr comm = sg::Comm::sendto_init(route.from, route.to);
    comm->set_payload_size(static_cast<std::uint64_t>(std::max(parts, 1LL)));
    comm->vetoable_start();
    const sg::Activity* key = comm.get();
    flows_.emplace(key, Flow{std::move(comm), &route, event});
  }

  void completed(const sg::Activity& activity) {
    finished_.clear();  // never the activity whose callback this is
    const auto it = flows_.find(&activity);
    if (it == flows_.end()) return;
    const Event event = it->second.event;
    leave(*it->second.route);
    finished_.push_back(std::move(it->second.comm));
    flows_.erase(it);
    handler_(event);
  }

  void leave(const Route& route) {
    for (const LinkId l : route.links) --flows_on_[l];
  }

  const Network& network_;
  std::function<void(const Event&)> handler_;
  std::vector<int> flows_on_;  // [link] parts moving over it
  std::vector<int> solo_on_;   // [link] the part that has it alone, as a timer
  std::vector<Solo> solos_;
  std::vector<int> free_solos_;
  std::unordered_map<const sg::Activity*, Flow> flows_;
  std::vector<sg::CommPtr> finished_;
};

void simulate(const StepGraph& graph, Span* spans, double* end) {
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
  const Network network(graph);
  SimgridClock clock(graph, network);
  Conductor<SimgridClock> conductor(graph, clock, spans);
  clock.set_handler([&](const Event& event) { conductor.handle(event); });
  conductor.start();
  engine.run();
  conductor.require_finished();
  *end = conductor.end();
}

class SimgridEngine : public Engine {
 public:
  Timeline run(const StepGraph& graph) override {
    require_sound(graph);
    const std::size_t events = Conductor<SimgridClock>::span_offsets(graph).back();
    SharedArray<Span> spans(events);
    SharedArray<double> end(1);
    run_in_child([&] { simulate(graph, spans.data(), end.data()); });
    return cut_timeline(graph, spans.data(), end[0]);
  }
};

}  // namespace

std::unique_ptr<Engine> make_simgrid_engine() { return std::make_unique<SimgridEngine>(); }

}  // namespace stepsim
