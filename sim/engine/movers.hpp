// What moves, while links change and routes with them: the part of a clock that both engines share. A part's bytes move
// over its route, or stall while a link of it is down. An engine (the derived class) says how they move:
//   void begin(int index)         -- sets movers()[index], whose `left` bytes have a route without a dead link, moving
//   double halt(int index)        -- stops it; the bytes that are left
//   bool feels_change(int index, double before, double after)  -- whether a moving one takes up another capacity (not 0)
//                                    of a link by itself
//   void capacity_changed(LinkId, double)  -- before anything begins under it
//   double now()
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engine/conductor.hpp"
#include "sim/engine/route_table.hpp"

namespace stepsim {

struct Mover {
  PartId id{};
  Event event{};            // when all bytes have moved
  int route = -1;           // of the table; -1: a free place
  bool moving = false;      // false: stalled
  double entered = 0;       // bytes a leg, when it entered the route
  double left = 0;          // bytes a leg, when it last began or stopped
  std::uint64_t number = 0;  // in order of beginning
};

template <class Derived>
class Movers {
 public:
  Movers(const StepGraph& graph, RouteTable& table)
      : table_(table), carried_(graph.reroutings.empty() ? 0 : graph.links.size(), 0) {}

  void move(const PartId& id, double bytes, const Event& event) {
    int index = 0;
    if (free_.empty()) {
      index = static_cast<int>(movers_.size());
      movers_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    movers_[index] = {id, event, -1, false, 0, bytes, next_++};
    enter(index, table_.route_of(id, routing_));
  }

  // Both return what ended at this very moment.
  std::vector<Event> set_capacity(LinkId link, double capacity) {
    const double before = table_.capacity(link);
    std::vector<Stopped> stopped;
    for (const int index : in_order()) {
      const Mover& mover = movers_[index];
      const auto& links = table_.routes()[mover.route].links;
      if (std::find(links.begin(), links.end(), link) == links.end()) continue;
      if (mover.moving && capacity > 0 && derived().feels_change(index, before, capacity)) continue;
      stopped.push_back(stop(index));
    }
    table_.set_capacity(link, capacity);
    derived().capacity_changed(link, capacity);
    return go_on(stopped, [&](const Mover& mover) { return mover.route; });
  }
  std::vector<Event> reroute(std::int32_t routing) {
    routing_ = routing;
    const auto route_of = [&](const Mover& mover) { return table_.route_of(mover.id, routing); };
    std::vector<Stopped> stopped;
    for (const int index : in_order()) {
      if (route_of(movers_[index]) != movers_[index].route) stopped.push_back(stop(index));
    }
    return go_on(stopped, route_of);
  }

  double capacity(LinkId link) const { return table_.capacity(link); }
  std::int32_t routing() const { return routing_; }
  // Parts that wait for a link that is down, in the order in which they began.
  std::vector<PartId> stalled() const {
    std::vector<PartId> ids;
    for (const int index : in_order()) {
      if (!movers_[index].moving) ids.push_back(movers_[index].id);
    }
    return ids;
  }
  // [link] bytes, noted only where routes change.
  const std::vector<double>& carried() const { return carried_; }

 protected:
  std::vector<Mover>& movers() { return movers_; }
  const Route& route_at(int index) const { return table_.routes()[movers_[index].route]; }

  // All bytes of a part have moved: forgets it.
  Event finish(int index) {
    Mover& mover = movers_[index];
    mover.left = 0;
    carry(mover);
    mover.route = -1;
    free_.push_back(index);
    return mover.event;
  }

 private:
  struct Stopped {
    int index;
    bool done;
  };

  // A change may fall on the moment at which a part ends: what would take less than 1e-11 of the time so far has ended.
  static constexpr double kSameMoment = 1e-11;

  Derived& derived() { return static_cast<Derived&>(*this); }

  std::vector<int> in_order() const {
    std::vector<int> indices;
    for (std::size_t i = 0; i < movers_.size(); ++i) {
      if (movers_[i].route >= 0) indices.push_back(static_cast<int>(i));
    }
    std::sort(indices.begin(), indices.end(), [this](int a, int b) { return movers_[a].number < movers_[b].number; });
    return indices;
  }

  void enter(int index, int route) {
    Mover& mover = movers_[index];
    mover.route = route;
    mover.entered = mover.left;
    mover.moving = table_.routes()[route].rate > 0;
    if (mover.moving) derived().begin(index);
  }

  Stopped stop(int index) {
    const double rate = route_at(index).rate;
    if (!movers_[index].moving) return {index, false};
    const double left = derived().halt(index);
    movers_[index].left = left;
    movers_[index].moving = false;
    return {index, left <= kSameMoment * derived().now() * rate};
  }

  template <class RouteOf>
  std::vector<Event> go_on(const std::vector<Stopped>& stopped, const RouteOf& route_of) {
    std::vector<Event> done;
    for (const auto& [index, ended] : stopped) {
      if (ended) {
        done.push_back(finish(index));
        continue;
      }
      carry(movers_[index]);
      enter(index, route_of(movers_[index]));
    }
    return done;
  }

  void carry(const Mover& mover) {
    if (carried_.empty()) return;
    const Route& route = table_.routes()[mover.route];
    for (std::size_t i = 0; i < route.links.size(); ++i) {
      carried_[route.links[i]] += route.legs[i] * (mover.entered - mover.left);
    }
  }

  RouteTable& table_;
  std::vector<Mover> movers_;
  std::vector<int> free_;
  std::uint64_t next_ = 0;
  std::int32_t routing_ = 0;
  std::vector<double> carried_;
};

}  // namespace stepsim
