#include "sim/report/calls.hpp"

#include <utility>

namespace stepsim {

CallIndex::CallIndex(const StepGraph& graph) : calls_(graph.programs.size()), number_(graph.programs.size()) {
  for (std::size_t p = 0; p < graph.programs.size(); ++p) {
    const auto& ops = graph.programs[p].ops;
    number_[p].assign(ops.size(), -1);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::transfer) continue;
      const auto slot = static_cast<std::size_t>(ops[i].slot);
      if (calls_[p].size() <= slot) calls_[p].resize(slot + 1);
      number_[p][i] = static_cast<std::int32_t>(calls_[p][slot].size());
      calls_[p][slot].push_back(static_cast<std::int32_t>(i));
    }
  }
}

const std::vector<std::int32_t>& CallIndex::calls(std::int32_t program, std::int32_t slot) const {
  static const std::vector<std::int32_t> none;
  const auto& slots = calls_[static_cast<std::size_t>(program)];
  return static_cast<std::size_t>(slot) < slots.size() ? slots[static_cast<std::size_t>(slot)] : none;
}

std::int32_t CallIndex::number_of(std::int32_t program, std::int32_t op) const {
  return number_[static_cast<std::size_t>(program)][static_cast<std::size_t>(op)];
}

std::vector<double> payload_of(const StepGraph& graph, const CallIndex& index, const Group& group) {
  std::vector<double> payload(group.patterns.size(), 0);
  if (group.endpoints.empty()) return payload;
  // The n-th call of one endpoint is the n-th call of all: one endpoint's program tells every call.
  const Endpoint& endpoint = group.endpoints.front();
  const Rank& rank = graph.ranks[static_cast<std::size_t>(endpoint.rank)];
  const Program& program = graph.programs[static_cast<std::size_t>(rank.program)];
  for (const auto call : index.calls(rank.program, endpoint.slot)) {
    const OpView op = program.ops[static_cast<std::size_t>(call)];
    payload[static_cast<std::size_t>(op.pattern)] += op.payload_bytes;
  }
  return payload;
}

std::vector<double> link_bytes(const StepGraph& graph, const Timeline& timeline) {
  if (!timeline.link_bytes.empty()) return timeline.link_bytes;
  std::vector<std::vector<std::vector<double>>> payloads(graph.programs.size());  // [program][slot][pattern] of all calls
  for (std::size_t p = 0; p < graph.programs.size(); ++p) {
    const OpTable& ops = graph.programs[p].ops;
    for (std::size_t s = 0; s < ops.specs().size(); ++s) {
      const OpSpec& op = ops.specs()[s];
      if (op.kind != OpKind::transfer) continue;
      const auto slot = static_cast<std::size_t>(op.slot), pattern = static_cast<std::size_t>(op.pattern);
      if (payloads[p].size() <= slot) payloads[p].resize(slot + 1);
      if (payloads[p][slot].size() <= pattern) payloads[p][slot].resize(pattern + 1, 0);
      payloads[p][slot][pattern] += ops.uses()[s] * op.payload_bytes;
    }
  }
  std::vector<double> bytes(graph.links.size(), 0);
  for (const Group& group : graph.groups) {
    if (group.endpoints.empty()) continue;
    // The n-th call of one endpoint is the n-th call of all: one endpoint's program tells every call.
    const Endpoint& endpoint = group.endpoints.front();
    const auto& slots = payloads[static_cast<std::size_t>(graph.ranks[static_cast<std::size_t>(endpoint.rank)].program)];
    if (slots.size() <= static_cast<std::size_t>(endpoint.slot)) continue;
    const auto& payload = slots[static_cast<std::size_t>(endpoint.slot)];
    for (std::size_t p = 0; p < group.patterns.size() && p < payload.size(); ++p) {
      for (const Part& part : group.patterns[p].parts) {
        const double leg = part.bytes_per_payload * payload[p];
        for (const Load& load : part.loads) bytes[static_cast<std::size_t>(load.link)] += load.legs * leg;
      }
    }
  }
  return bytes;
}

Intervals compute_of(const StepGraph& graph, const Timeline& timeline, std::size_t rank) {
  Intervals busy;
  const auto& ops = program_of(graph, rank).ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != OpKind::compute || ops[i].stream != 0) continue;
    append(busy, timeline.spans[rank][i].start, timeline.spans[rank][i].end);
  }
  return busy;
}

Intervals busy_of(const StepGraph& graph, const Timeline& timeline, std::size_t rank) {
  const Program& program = program_of(graph, rank);
  std::vector<Intervals> busy(program.streams.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const OpView op = program.ops[i];
    if (op.kind != OpKind::transfer && (op.kind != OpKind::compute || op.stream != 0)) continue;
    append(busy[op.stream], timeline.spans[rank][i].start, timeline.spans[rank][i].end);
  }
  return unite_all(std::move(busy));
}

Activity activity_of(const StepGraph& graph, const Timeline& timeline, std::size_t rank) {
  const Program& program = program_of(graph, rank);
  std::vector<Intervals> moving(program.streams.size()), waiting(program.streams.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const OpView op = program.ops[i];
    if (op.kind != OpKind::transfer) continue;
    const Span& span = timeline.spans[rank][i];
    append(moving[op.stream], span.start, span.end);
    if (!(span.ready < span.start)) continue;
    if (pattern_of(group_of(graph, rank, op), op).operation == kPointToPoint) continue;
    append(waiting[op.stream], span.ready, span.start);
  }
  return {compute_of(graph, timeline, rank), unite_all(std::move(moving)), unite_all(std::move(waiting))};
}

}  // namespace stepsim
