// All routes between many hosts at once, counted zone by zone: what leads from a host to its zone's gateway is the same
// whatever is beyond.
#include <algorithm>
#include <cstddef>
#include <map>

#include "sim/cluster/longest_way.hpp"
#include "sim/cluster/zones.hpp"

namespace stepsim {

class ZonePlatform::PairCounter {
 public:
  PairCounter(const ZonePlatform& platform, std::span<const Seconds> latency) : p_(platform), latency_(latency) {
    counted_.legs.assign(platform.all_links.size(), 0);
  }

  // Between points somewhere inside the zone. False where a pair has no route.
  bool count(ZoneId id, const std::vector<PointId>& points) {
    const Zone& zone = p_.zones[static_cast<std::size_t>(id)];
    std::map<int, std::vector<PointId>> by_member;  // by position
    for (const PointId point : points) by_member[p_.points[static_cast<std::size_t>(p_.member_towards(id, point))].position].push_back(point);
    if (by_member.size() > 1) {
      const bool counted = zone.routing == Routing::star && !zone.holds_zones && count_star(zone, by_member);
      if (!counted && !count_pairs(zone, by_member)) return false;
    }
    return std::all_of(by_member.begin(), by_member.end(), [&](const auto& one) {
      const Point& member = p_.points[static_cast<std::size_t>(zone.members[static_cast<std::size_t>(one.first)])];
      return one.second.size() < 2 || (member.kind == PointKind::zone && count(member.id, one.second));
    });
  }

  AllPairs take() { return std::move(counted_); }

 private:
  using ByMember = std::map<int, std::vector<PointId>>;

  double latency_of(const std::vector<LinkId>& links) const {
    double sum = 0;
    for (const LinkId link : links) sum += latency_[static_cast<std::size_t>(link)].value;
    return sum;
  }
  void add(const std::vector<LinkId>& links, double times) {
    for (const LinkId link : links) counted_.legs[static_cast<std::size_t>(link)] += times;
  }
  void see(double latency) { counted_.latency = std::max(counted_.latency, latency); }

  // Links to and from the centre, each once; of one host each, or of none.
  static std::vector<LinkId> once(const std::array<LinkId, 3>& port) {
    std::vector<LinkId> links;
    for (const LinkId link : port) {
      if (link >= 0 && std::find(links.begin(), links.end(), link) == links.end()) links.push_back(link);
    }
    return links;
  }

  // Hosts of a star: each goes out to all others and in from all others. False, and nothing counted, where two hosts share
  // a link (a backbone), which a route names once.
  bool count_star(const Zone& zone, const ByMember& by_member) {
    std::map<LinkId, int> user;
    for (const auto& [position, points] : by_member) {
      const StarPorts& ports = zone.ports[static_cast<std::size_t>(position)];
      for (const auto& port : {ports.up, ports.down}) {
        for (const LinkId link : once(port)) {
          if (user.try_emplace(link, position).first->second != position) return false;
        }
      }
    }
    const double others = static_cast<double>(by_member.size()) - 1;
    std::vector<std::pair<double, int>> up, down;  // latency, position
    for (const auto& [position, points] : by_member) {
      const StarPorts& ports = zone.ports[static_cast<std::size_t>(position)];
      const std::vector<LinkId> out = once(ports.up), in = once(ports.down);
      add(out, others);
      add(in, others);
      up.emplace_back(latency_of(out), position);
      down.emplace_back(latency_of(in), position);
    }
    see(longest_way(std::move(up), std::move(down)));
    return true;
  }

  // What the hosts inside a member cross on their way to one of its gateways, or from it.
  struct Inner {
    double messages = 0;  // of each of the hosts
    double latency = 0;   // of the host that has the longest way
  };

  bool count_pairs(const Zone& zone, const ByMember& by_member) {
    struct Middle {
      int from, to;
      PointId gateway_from, gateway_to;
      double latency;
    };
    std::vector<Middle> middles;
    std::map<std::pair<int, PointId>, Inner> out, in;  // by member and gateway
    std::vector<LinkId> links;
    for (const auto& [a, from] : by_member) {
      for (const auto& [b, to] : by_member) {
        if (a == b) continue;
        links.clear();
        Ends gateways;
        const PointId near = zone.members[static_cast<std::size_t>(a)], far = zone.members[static_cast<std::size_t>(b)];
        if (!p_.append_inside(zone, near, far, links, gateways)) return false;
        if (zone.holds_zones && (gateways.from < 0 || gateways.to < 0)) return false;
        const auto senders = static_cast<double>(from.size()), receivers = static_cast<double>(to.size());
        add(links, senders * receivers);
        middles.push_back({a, b, gateways.from, gateways.to, latency_of(links)});
        if (!zone.holds_zones) continue;
        out[{a, gateways.from}].messages += receivers;
        in[{b, gateways.to}].messages += senders;
      }
    }
    for (auto* way : {&out, &in}) {
      for (auto& [where, inner] : *way) {
        for (const PointId host : by_member.at(where.first)) {
          if (host == where.second) continue;
          links.clear();
          if (!(way == &out ? p_.append(host, where.second, links) : p_.append(where.second, host, links))) return false;
          add(links, inner.messages);
          inner.latency = std::max(inner.latency, latency_of(links));
        }
      }
    }
    for (const Middle& m : middles) {
      see(m.latency + (zone.holds_zones ? out[{m.from, m.gateway_from}].latency + in[{m.to, m.gateway_to}].latency : 0));
    }
    return true;
  }

  const ZonePlatform& p_;
  std::span<const Seconds> latency_;
  AllPairs counted_;
};

std::optional<Platform::AllPairs> ZonePlatform::all_pairs(std::span<const HostId> hosts, std::span<const Seconds> latency) const {
  PairCounter counter(*this, latency);
  std::vector<PointId> of_hosts;
  for (const HostId host : hosts) of_hosts.push_back(host_points[static_cast<std::size_t>(host)]);
  for (ZoneId root = 0; root < static_cast<ZoneId>(zones.size()); ++root) {
    if (points[static_cast<std::size_t>(zones[static_cast<std::size_t>(root)].point)].zone >= 0) continue;
    const bool holds_all = std::all_of(of_hosts.begin(), of_hosts.end(), [&](PointId point) { return contains(root, point); });
    if (holds_all && counter.count(root, of_hosts)) return counter.take();
    if (holds_all) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace stepsim
