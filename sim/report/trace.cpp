// Chrome trace-event JSON, as Perfetto reads it: a process a rank, a thread a stream, a complete event ("X") an op.
// Format: "Trace Event Format", Google, the document that https://ui.perfetto.dev and chrome://tracing follow.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "sim/report/calls.hpp"
#include "sim/report/report.hpp"

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

  std::string run(const std::vector<std::size_t>& ranks, const std::string& note) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"note\":" + as_json(note) + "},\"traceEvents\":[";
    for (const std::size_t r : ranks) {
      name(r);
      const Program& program = program_of(graph_, r);
      for (std::size_t i = 0; i < program.ops.size(); ++i) slices(r, program.ops[i], timeline_.spans[r][i]);
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
            const Op& op) {
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
  void slices(std::size_t r, const Op& op, const Span& span) {
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
      open(pattern.operation == point_to_point ? posted_ : wait_, "wait", ready, start, r, op);
      print(",\"for\":{}", op.tags.label == 0 ? as_json(pattern.operation) : label);
      close();
    }
    open(op.tags.label == 0 ? as_json(pattern.operation) : label, "transfer", start, end, r, op);
    print(R"(,"dimension":"{}","operation":{},"algorithm":{},"group":{},"group_size":{},"bytes":{})",
          to_text(dimension_of(group, op)), as_json(pattern.operation), as_json(pattern.algorithm), as_json(group.name),
          group.size, op.payload_bytes);
    close();
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  const std::string compute_ = "\"compute\"", delay_ = "\"delay\"", wait_ = "\"wait\"", posted_ = "\"posted\"";
  std::vector<std::string> labels_;  // quoted
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string to_trace(const StepGraph& graph, const Timeline& timeline, std::uint64_t most_events) {
  std::vector<std::size_t> ranks;
  std::string note = "every rank of the simulated graph";
  if (count_events(graph) <= most_events) {
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) ranks.push_back(r);
  } else {
    // A trace of thousands of ranks opens nowhere: one rank of each program and speed tells the same.
    std::set<std::pair<std::int32_t, double>> seen;
    for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
      if (seen.insert({graph.ranks[r].program, graph.ranks[r].speed}).second) ranks.push_back(r);
    }
    note = fmt::format("{} of {} ranks: the first of each program and speed", ranks.size(), graph.ranks.size());
  }
  return Writer(graph, timeline).run(ranks, note);
}

}  // namespace stepsim
