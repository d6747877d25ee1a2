// A program while it is being written: its ops, and when they end as planned. Inside make_step.
#pragma once

#include <string>
#include <vector>

#include "workloads/pass_run.hpp"
#include "workloads/step_parts.hpp"

namespace stepsim {

class ProgramWriter {
 public:
  // Streams: compute, those of kFixedStreams, and one for each channel of the rank, in their order.
  ProgramWriter(const StepContext& context, int rank, Book& book);

  const StepContext& context() const { return context_; }
  int rank() const { return program_.pipeline_rank; }
  Book& book() { return book_; }
  std::uint8_t stream_of_channel(int channel) const { return channel_stream_[static_cast<std::size_t>(channel)]; }

  void reserve(std::size_t ops);
  // Returns its number. `after` may be in any order. A compute op also waits for what wait_before_next_compute() named.
  std::int32_t add(Op op);
  void wait_before_next_compute(const Ops& ops);
  Program take() { return std::move(program_); }

  // As planned, s: when ops end, and until when there is compute. They only decide orders. An op ends at once unless
  // told.
  double now() const { return now_; }
  double end_of(std::int32_t op) const { return end_[static_cast<std::size_t>(op)]; }
  double latest(double start, const Ops& of) const;  // of `start` and the ends of those
  void last_ends(double end) { end_.back() = end; }
  void computes_until(double end) { now_ = end; }

 private:
  const StepContext& context_;
  Book& book_;
  Program program_;
  std::vector<std::uint8_t> channel_stream_;
  Ops before_next_compute_;
  std::vector<double> end_;
  double now_ = 0;
};

}  // namespace stepsim
