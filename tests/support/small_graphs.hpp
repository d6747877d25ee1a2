// Small step graphs by hand.
#pragma once

#include <string>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim::testing {

inline Op compute(double seconds, OpList after = {}) {
  Op op;
  op.kind = OpKind::compute;
  op.seconds = seconds;
  op.sm_seconds = seconds;
  op.after = std::move(after);
  return op;
}

inline Op transfer(std::uint8_t stream, std::int16_t slot, double bytes, OpList after = {}) {
  Op op;
  op.kind = OpKind::transfer;
  op.stream = stream;
  op.slot = slot;
  op.pattern = 0;
  op.payload_bytes = bytes;
  op.after = std::move(after);
  return op;
}

// A graph grown piece by piece. Streams: 0 computes, the others communicate.
class GraphMaker {
 public:
  explicit GraphMaker(int streams = 3) : streams_(streams) { graph.tiers = {"wire"}; }

  int link(double capacity, RankId owner = -1) {
    const int id = static_cast<int>(graph.links.size());
    graph.links.push_back({"link" + std::to_string(id), capacity, 0, owner, 1});
    return id;
  }

  int program(std::vector<Op> ops) {
    Program p;
    p.name = "program " + std::to_string(graph.programs.size());
    for (int s = 0; s < streams_; ++s) p.streams.push_back({s == 0 ? "compute" : "stream " + std::to_string(s), Dimension::none});
    p.ops = std::move(ops);
    graph.programs.push_back(std::move(p));
    return static_cast<int>(graph.programs.size()) - 1;
  }

  RankId rank(int program, int slots, double speed = 1) {
    Rank r;
    r.program = program;
    r.speed = speed;
    r.slots.assign(slots, -1);
    r.original = static_cast<RankId>(graph.ranks.size());
    graph.ranks.push_back(std::move(r));
    return graph.ranks.back().original;
  }

  // One pattern of one part: `legs` per link, one byte a payload byte along each leg.
  GroupId group(const std::vector<Endpoint>& endpoints, std::vector<Load> loads, double alpha = 0, double bytes_per_payload = 1) {
    Group g;
    g.name = "group " + std::to_string(graph.groups.size());
    g.endpoints = endpoints;
    g.size = static_cast<int>(endpoints.size());
    g.patterns = {{"all_to_all", "by hand", {{std::move(loads), bytes_per_payload, alpha, 0, false}}}};
    const auto id = static_cast<GroupId>(graph.groups.size());
    for (const Endpoint& e : endpoints) graph.ranks[e.rank].slots[e.slot] = id;
    graph.groups.push_back(std::move(g));
    return id;
  }

  StepGraph graph;

 private:
  int streams_;
};

}  // namespace stepsim::testing
