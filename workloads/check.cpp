#include "workloads/check.hpp"

#include <charconv>

#include "workloads/check_parts.hpp"
#include "workloads/routing.hpp"

namespace stepsim {
namespace {

std::int64_t replica_of(const Parallel& p) {
  return std::int64_t{p.tensor} * p.context * p.pipeline;
}

void check_sms(Check& check) {
  const int taken = check.plan.sms.communication;
  if (taken >= check.cluster.gpu.sms) {
    check.add("sms.communication",
              fmt::format("{} leaves none of the {} SMs of {} to compute; at most {}", taken, check.cluster.gpu.sms,
                          check.cluster.gpu.name, check.cluster.gpu.sms - 1));
  }
}

void check_kernels(Check& check) {
  const Gpu& gpu = check.cluster.gpu;
  if (check.plan.kernels.attention == Kernels::Attention::flash2 && gpu.rates == Rates::calibrated &&
      !gpu.calibrated.has_flash2) {
    check.add("kernels.attention", fmt::format("{} has no measurements of FlashAttention-2; write flash", gpu.name));
  }
  if (check.plan.kernels.shards != Kernels::Shards::in_place && !check.plan.parallel.reduces_each_microbatch()) {
    check.add("kernels.shards", "has no effect without ZeRO-2 or 3, or with a pipeline; write in_place, or leave it out");
  }
  if (check.plan.multi_token_prediction && check.model.prediction_layers == 0) {
    check.add("multi_token_prediction", check.model.name + " has no prediction_layers");
  }
  if (check.plan.kernels.attention == Kernels::Attention::unfused && check.plan.parallel.context > 1) {
    check.add("kernels.attention", "context parallelism needs flash attention; write flash");
  }
}

void check_recompute(Check& check) {
  const auto& modules = check.plan.recompute.modules;
  const int layers = check.plan.recompute.layers;
  if (layers > check.model.layers) {
    check.add("recompute_layers", fmt::format("{} of {} layers; leave it out to recompute in all", layers, check.model.layers));
  }
  if (layers > 0 && !check.plan.recompute.full && modules.empty()) {
    check.add("recompute_layers", "has no effect with recompute: none; write full or a list, or leave it out");
  }
  if (modules.contains(Module::mla_up) && check.model.attention.kind != Attention::Kind::mla) {
    check.add("recompute", fmt::format("{} has no latent attention; leave out mla_up", check.model.name));
  }
  if (modules.contains(Module::alternate) &&
      (check.model.attention.kind == Attention::Kind::mla || check.model.experts.count > 0 || check.plan.parallel.tensor > 1)) {
    check.add("recompute", "alternate is for dense layers of grouped-query attention without tensor parallelism");
  }
  if (modules.contains(Module::experts) && check.model.experts.count == 0) {
    check.add("recompute", fmt::format("{} has no experts; leave out experts", check.model.name));
  }
}

// Pieces of a collective that compute waits for one by one hide nothing.
void check_tensor_chunks(Check& check) {
  const int chunks = check.plan.overlap.tensor_chunks;
  if (chunks == 1) return;
  if (check.plan.overlap.tensor == Overlap::Policy::blocking) {
    check.add("overlap.tensor_chunks",
              fmt::format("{} pieces, but overlap.tensor: blocking waits for each of them; write overlap.tensor: async",
                          chunks));
  }
  const Parallel& p = check.plan.parallel;
  const std::int64_t tokens = std::int64_t{check.plan.batch.microbatch_sequences} * check.plan.batch.sequence_length;
  const std::int64_t rows = tokens / std::max(1, p.context) / (p.sequence ? p.tensor : 1);
  if (rows % chunks != 0) {
    check.add("overlap.tensor_chunks", fmt::format("{} does not divide a GPU's {} rows of a microbatch{}", chunks, rows,
                                                   nearest_values(chunks, 64, [&](auto n) { return rows % n == 0; })));
  }
}

void check_balance(Check& check) {
  for (std::string& reason : balance_problems(check.model, check.plan.routing)) {
    check.add("routing.balance", std::move(reason));
  }
}

}  // namespace

void Check::add(const std::string& key, std::string reason) {
  const auto known = source.origins.find(key);
  const Origin where = known == source.origins.end() ? Origin{source.file, 0} : known->second;
  problems.push_back({where.file, where.line, key, std::move(reason)});
}

PlanSource source_of(const std::string& file, const Reading& reading) {
  PlanSource source{file, {}};
  for (const Explained& e : reading.explained) {
    if (e.where) source.origins[e.key] = *e.where;
  }
  return source;
}

ParallelPlan resolve(ParallelPlan plan, const ClusterSpec& cluster) {
  if (plan.parallel.data == 0) plan.parallel.data = static_cast<int>(cluster.ranks() / replica_of(plan.parallel));
  return plan;
}

double microbatches_of(const ParallelPlan& plan, const ClusterSpec& cluster) {
  const double data = plan.parallel.data > 0
                          ? plan.parallel.data
                          : static_cast<double>(cluster.ranks()) / static_cast<double>(replica_of(plan.parallel));
  return static_cast<double>(plan.batch.global_sequences) / (data * plan.batch.microbatch_sequences);
}

std::vector<Problem> check(const ModelSpec& model, const ClusterSpec& cluster, const ParallelPlan& plan,
                           const PlanSource& source) {
  Check check(model, cluster, plan, source);
  const bool degrees_fit = check_degrees(check);
  const bool experts_fit = check_experts(check);
  check_model(check);
  if (degrees_fit) check_batch(check);
  check_schedule(check, degrees_fit);
  check_recompute(check);
  check_tensor_chunks(check);
  check_kernels(check);
  if (degrees_fit) check_zero(check);
  check_algorithms(check);
  if (degrees_fit && experts_fit) check_groups(check, make_grid(resolve(plan, cluster), cluster.ranks()));
  check_balance(check);
  check_sms(check);
  return check.problems;
}

}  // namespace stepsim
