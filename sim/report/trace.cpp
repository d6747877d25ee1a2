#include "sim/report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "sim/report/calls.hpp"
#include "sim/report/trace_counters.hpp"

namespace stepsim {
namespace {

std::string as_json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Whole nanoseconds: both ends of a slice are rounded alike, so that neighbours of a thread never overlap.
long long nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

class Writer {
 public:
  Writer(const StepGraph& graph, const Timeline& timeline) : graph_(graph), timeline_(timeline) {
    for (const std::string& label : graph.labels) labels_.push_back(as_json(label));
  }

  std::string run(const TraceOptions& options, const std::vector<std::size_t>& ranks, const std::string& note) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"note\":" + as_json(note) + "},\"traceEvents\":[";
    for (const std::size_t r : ranks) {
      name(r);
      const Program& program = program_of(graph_, r);
      for (std::size_t i = 0; i < program.ops.size(); ++i) slices(r, program.ops[i], timeline_.spans[r][i]);
    }
    arrows(ranks);
    for (const MemoryLine& line : options.memory) {
      for (const std::size_t r : ranks) {
        if (graph_.ranks[r].original == line.rank) memory(r, line);
      }
    }
    for (const std::size_t r : ranks) sms(r);
    for (const LinkRate& link : link_rates(graph_, timeline_, ranks)) {
      const std::string counter = as_json(link.name + " GB/s");
      for (const auto& [time, rate] : link.points) count(link.rank, counter, time, "\"GB/s\":{:.6g}", rate / 1e9);
    }
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void begin_event() {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
  }

  void metadata(int pid, std::size_t tid, std::string_view what, std::string_view key, const std::string& value) {
    begin_event();
    print(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"{}":{}}}}})", what, pid, tid, key, value);
  }

  void name(std::size_t r) {
    const Rank& rank = graph_.ranks[r];
    const Program& program = program_of(graph_, r);
    std::string title = fmt::format("rank {}, stage {}", rank.original, program.pipeline_rank);
    if (rank.count > 1) title += fmt::format(" ({} alike)", rank.count);
    metadata(rank.original, 0, "process_name", "name", as_json(title));
    metadata(rank.original, 0, "process_sort_index", "sort_index", std::to_string(rank.original));
    for (std::size_t s = 0; s < program.streams.size(); ++s) {
      metadata(rank.original, s, "thread_name", "name", as_json(program.streams[s].name));
      metadata(rank.original, s, "thread_sort_index", "sort_index", std::to_string(s));
    }
  }

  void open(std::string_view name, std::string_view category, long long from, long long to, std::size_t r,
            const OpView& op) {
    begin_event();
    const long long duration = to - from;
    print(R"({{"name":{},"cat":"{}","ph":"X","ts":{}.{:03},"dur":{}.{:03},"pid":{},"tid":{},"args":{{"phase":"{}")",
          name, category, from / 1000, from % 1000, duration / 1000, duration % 1000, graph_.ranks[r].original,
          op.stream, to_text(op.tags.phase));
    const auto tag = [&](std::string_view key, int value) {
      if (value >= 0) print(",\"{}\":{}", key, value);
    };
    tag("stage", op.tags.stage);
    tag("chunk", op.tags.chunk);
    tag("layer", op.tags.layer);
    tag("microbatch", op.tags.microbatch);
  }
  void close() { text_ += "}}"; }

  // A transfer's wait for its other members is a slice of its own before it.
  void slices(std::size_t r, const OpView& op, const Span& span) {
    const long long start = nanoseconds(span.start), end = nanoseconds(span.end);
    const std::string& label = labels_[static_cast<std::size_t>(op.tags.label)];
    if (op.kind != OpKind::transfer) {
      if (op.kind == OpKind::delay && start == end) return;  // a join
      const bool compute = op.kind == OpKind::compute;
      const std::string& fallback = compute ? compute_ : delay_;
      open(op.tags.label == 0 ? fallback : label, compute ? "compute" : "delay", start, end, r, op);
      if (op.work.flops > 0) print(",\"flops\":{}", op.work.flops);
      close();
      return;
    }
    const Group& group = group_of(graph_, r, op);
    const Pattern& pattern = pattern_of(group, op);
    const long long ready = nanoseconds(span.ready);
    if (ready < start) {
      open(pattern.operation == kPointToPoint ? posted_ : wait_, "wait", ready, start, r, op);
      print(",\"for\":{}", op.tags.label == 0 ? as_json(pattern.operation) : label);
      close();
    }
    open(op.tags.label == 0 ? as_json(pattern.operation) : label, "transfer", start, end, r, op);
    print(R"(,"dimension":"{}","operation":{},"algorithm":{},"group":{},"group_size":{},"bytes":{})",
          to_text(dimension_of(group, op)), as_json(pattern.operation), as_json(pattern.algorithm), as_json(group.name),
          group.size, op.payload_bytes);
    close();
  }

  // A message's arrow runs from its slice on the sender to its slice on the receiver. Both begin together.
  void arrows(const std::vector<std::size_t>& ranks) {
    std::vector<bool> shown(graph_.ranks.size(), false);
    for (const std::size_t r : ranks) shown[r] = true;
    const CallIndex calls(graph_);
    long long id = 0;
    for (const Group& group : graph_.groups) {
      if (group.endpoints.size() != 2) continue;
      const auto first = static_cast<std::size_t>(group.endpoints[0].rank);
      const auto second = static_cast<std::size_t>(group.endpoints[1].rank);
      if (!shown[first] || !shown[second]) continue;
      const auto& here = calls.calls(graph_.ranks[first].program, group.endpoints[0].slot);
      const auto& there = calls.calls(graph_.ranks[second].program, group.endpoints[1].slot);
      for (std::size_t n = 0; n < std::min(here.size(), there.size()); ++n) {
        const OpView op = program_of(graph_, first).ops[static_cast<std::size_t>(here[n])];
        if (pattern_of(group, op).operation != kPointToPoint) continue;
        const OpView other = program_of(graph_, second).ops[static_cast<std::size_t>(there[n])];
        const Span& span = timeline_.spans[first][static_cast<std::size_t>(here[n])];
        const long long at = nanoseconds(span.start);
        if (nanoseconds(span.end) <= at) continue;  // no slice to bind to
        const bool reversed = receives(first, op);
        arrow('s', id, at, reversed ? second : first, reversed ? other : op);
        arrow('f', id, at, reversed ? first : second, reversed ? op : other);
        ++id;
      }
    }
  }

  bool receives(std::size_t rank, const OpView& op) const {
    return program_of(graph_, rank).streams[op.stream].name.find("receive") != std::string::npos;
  }

  void arrow(char phase, long long id, long long at, std::size_t r, const OpView& op) {
    begin_event();
    print(R"({{"name":"message","cat":"message","ph":"{}","id":{},"ts":{}.{:03},"pid":{},"tid":{}{}}})", phase, id,
          at / 1000, at % 1000, graph_.ranks[r].original, op.stream, phase == 'f' ? R"(,"bp":"e")" : "");
  }

  template <typename... Args>
  void count(std::size_t r, std::string_view counter, double time, fmt::format_string<Args...> values, Args&&... args) {
    begin_event();
    const long long at = nanoseconds(time);
    print(R"({{"name":{},"ph":"C","ts":{}.{:03},"pid":{},"args":{{)", counter, at / 1000, at % 1000,
          graph_.ranks[r].original);
    print(values, std::forward<Args>(args)...);
    text_ += "}}";
  }

  void memory(std::size_t r, const MemoryLine& line) {
    for (const auto& [time, bytes] : line.points) count(r, "\"memory GB\"", time, "\"GB\":{:.6g}", bytes / 1e9);
  }

  void sms(std::size_t r) {
    const SmsInUse use = sms_in_use(graph_, timeline_, r);
    for (const auto& [time, sms] : use.compute) count(r, "\"SMs computing\"", time, "\"SMs\":{}", sms);
    for (const auto& [time, sms] : use.communication) count(r, "\"SMs communicating\"", time, "\"SMs\":{}", sms);
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  const std::string compute_ = "\"compute\"", delay_ = "\"delay\"", wait_ = "\"wait\"", posted_ = "\"posted\"";
  std::vector<std::string> labels_;  // quoted
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string to_trace(const StepGraph& graph, const Timeline& timeline, const TraceOptions& options) {
  std::vector<std::size_t> ranks = options.ranks;
  std::string note = options.note;
  if (ranks.empty() && count_events(graph) <= options.most_events) {
    ranks.resize(graph.ranks.size());
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
    if (note.empty()) note = "every rank of the simulated graph";
  } else if (ranks.empty()) {
    // A trace of thousands of ranks opens nowhere: one rank of each program and speed tells the same.
    std::set<std::pair<std::int32_t, double>> seen;
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
      if (seen.insert({graph.ranks[r].program, graph.ranks[r].speed}).second) ranks.push_back(r);
    }
    if (note.empty()) {
      note = fmt::format("{} of {} ranks: the first of each program and speed", ranks.size(), graph.ranks.size());
    }
  }
  return Writer(graph, timeline).run(options, ranks, note);
}

}  // namespace stepsim
