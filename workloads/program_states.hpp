// Parameters and gradients in a program: gathers and reductions beside its passes, and the optimizer. Inside make_step.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/cost/kernel.hpp"
#include "workloads/program_writer.hpp"

namespace stepsim {

class ProgramStates {
 public:
  explicit ProgramStates(ProgramWriter& writer);

  // A pass comes to a block: what gathers the block's parameters, which the pass then waits for.
  void begin_block(PassRun& run, int block);
  // It leaves the block, all but `done` behind it: reduces the block's gradients where it is time.
  void end_block(const PassRun& run, int block, const Ops& done);
  // It ends: reduces what waited for that.
  void end_pass(const PassRun& run, const Ops& done);
  // After the last pass: what has not been reduced, the optimizer, and the new parameters to everybody.
  void finish();

 private:
  bool is_last(const Pass& pass) const;
  bool gathers_late() const;
  std::int32_t state_transfer(std::int16_t slot, Operation operation, const std::string& algorithm, double bytes, const std::string& label,
                              const Tags& tags, Ops after);
  void gather_block(PassRun& run, int block);
  void await_update(PassRun& run, int block);
  void gather_stage(int stage, const Ops& after);
  Ops gather_updated(int stage, int block, double dense, double expert, const Ops& after);
  void reduce(int stage, int block, const Ops& after, int microbatch);
  void reduce_parameters(int stage, int block, double parameters, int replicas, int shards, std::int16_t slot, std::int16_t across, Ops after,
                         int microbatch);
  void sum_partial(const std::vector<int>& stages, const Ops& end);
  void sum_tied(const std::vector<int>& stages, const Ops& end);
  void all_reduce(std::int16_t slot, StreamId stream, Dimension dimension, double bytes, const std::string& algorithm, const std::string& label,
                  const Ops& end);
  std::int32_t write_optimizer(const std::vector<int>& stages);
  std::vector<Kernel> before_the_norm(double own) const;
  std::int32_t optimizer_op(const std::vector<Kernel>& kernels);

  ProgramWriter& writer_;
  const StepContext& c_;
  std::vector<Pass> last_pass_;             // [chunk] the last that makes gradients
  std::vector<Ops> visits_;                 // last ops of each visit of a block, in order
  std::vector<int> late_;                   // blocks to reduce when their pass ends
  std::set<std::pair<int, int>> gathered_;  // [stage, block] whose parameters stay whole
  Ops reduced_;
};

}  // namespace stepsim
