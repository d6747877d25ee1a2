#include "workloads/program_writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace stepsim {

ProgramWriter::ProgramWriter(const StepContext& context, int rank, Book& book) : context_(context), book_(book) {
  program_.name = fmt::format("pipeline rank {}", rank);
  program_.pipeline_rank = rank;
  program_.streams = {
      {"compute", Dimension::none},  {"tensor", Dimension::tensor},           {"context", Dimension::context},
      {"expert", Dimension::expert}, {"parameter gather", Dimension::gather}, {"gradient reduce", Dimension::reduce}};
  for (const Channel& channel : context.channels) {
    channel_stream_.push_back(0);
    if (channel.from_rank != rank && channel.to_rank != rank) continue;
    channel_stream_.back() = static_cast<std::uint8_t>(program_.streams.size());
    const char* what = channel.from_rank == rank ? "send" : "receive";
    program_.streams.push_back({fmt::format("pipeline {} {}>{}", what, channel.from_stage, channel.to_stage), Dimension::pipeline});
  }
}

void ProgramWriter::reserve(std::size_t ops) {
  program_.ops.reserve(ops);
  end_.reserve(ops);
}

std::int32_t ProgramWriter::add(Op op) {
  if (op.kind == OpKind::compute) {
    op.after.insert(op.after.end(), before_next_compute_.begin(), before_next_compute_.end());
    before_next_compute_.clear();
  }
  std::sort(op.after.begin(), op.after.end());
  op.after.erase(std::unique(op.after.begin(), op.after.end()), op.after.end());
  program_.ops.push_back(op);
  end_.push_back(now_);
  return static_cast<std::int32_t>(program_.ops.size()) - 1;
}

void ProgramWriter::wait_before_next_compute(const Ops& ops) {
  before_next_compute_.insert(before_next_compute_.end(), ops.begin(), ops.end());
}

double ProgramWriter::latest(double start, const Ops& of) const {
  for (const std::int32_t op : of) start = std::max(start, end_of(op));
  return start;
}

}  // namespace stepsim
