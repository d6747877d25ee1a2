// Whether the plan's degrees fit the cluster and the model.
#include <algorithm>
#include <array>

#include "workloads/check_parts.hpp"

namespace stepsim {
namespace {

bool divides(std::int64_t part, std::int64_t whole) {
  return part > 0 && whole % part == 0;
}

std::string gpus_of(const ClusterSpec& cluster) {
  return fmt::format("{} GPUs ({} nodes of {})", cluster.ranks(), cluster.nodes, cluster.gpus_per_node);
}

bool has_dense_layer(const ModelSpec& model) {
  for (int layer = 0; layer < model.layers; ++layer) {
    if (!model.has_experts(layer)) return true;
  }
  return false;
}

bool kv_heads_fit(const ModelSpec& model, std::int64_t tensor) {
  return divides(tensor, model.kv_heads) || divides(model.kv_heads, tensor);  // fewer than ranks: they are repeated
}

bool shapes_fit(const ModelSpec& model, std::int64_t tensor) {
  const bool ffn = !has_dense_layer(model) || divides(tensor, model.ffn);
  const bool shared = model.experts.shared == 0 || divides(tensor, model.experts.shared_ffn);
  return divides(tensor, model.heads) && kv_heads_fit(model, tensor) && ffn && shared;
}

void check_tensor(Check& check) {
  const int tensor = check.plan.parallel.tensor;
  const ModelSpec& m = check.model;
  const auto refuse = [&](const std::string& what) {
    const auto allowed = [&](std::int64_t t) { return shapes_fit(m, t) && divides(t, check.world); };
    check.add("parallel.tensor",
              fmt::format("{} does not divide {}{}", tensor, what, nearest_values(tensor, check.world, allowed)));
  };
  if (!divides(tensor, m.heads)) refuse(fmt::format("{} heads", m.heads));
  if (!kv_heads_fit(m, tensor)) refuse(fmt::format("{} key/value heads, nor they it", m.kv_heads));
  if (has_dense_layer(m) && !divides(tensor, m.ffn)) refuse(fmt::format("the feed-forward width {}", m.ffn));
  if (m.experts.shared > 0 && !divides(tensor, m.experts.shared_ffn)) {
    refuse(fmt::format("the shared experts' width {}", m.experts.shared_ffn));
  }
}

void check_sequence(Check& check) {
  const Parallel& p = check.plan.parallel;
  const int length = check.plan.batch.sequence_length;
  if (p.sequence && p.tensor == 1) {
    check.add("parallel.sequence", "has no effect when tensor is 1; write false, or a larger tensor");
  }
  if (p.sequence && !divides(std::int64_t{p.tensor} * p.context, length)) {
    check.add("parallel.sequence", fmt::format("tensor {} x context {} does not divide a sequence of {} tokens",
                                               p.tensor, p.context, length));
  }
}

void check_context(Check& check) {
  const Parallel& p = check.plan.parallel;
  const int length = check.plan.batch.sequence_length;
  if (p.context == 1) return;
  const bool exchange = p.context_method == Parallel::ContextMethod::all_to_all;
  const int heads = check.model.heads / p.tensor;
  // Ranks that keep their own queries have an early and a late piece each, so that all see as many keys under the causal
  // mask.
  const auto length_fits = [&](std::int64_t c) { return divides(exchange ? c : 2 * c, length); };
  const auto heads_fit = [&](std::int64_t c) { return !exchange || divides(c, heads); };
  const auto allowed = [&](std::int64_t c) { return length_fits(c) && heads_fit(c) && divides(c, check.world); };
  const std::string remedy = nearest_values(p.context, check.world, allowed);
  if (!length_fits(p.context)) {
    check.add("parallel.context",
              fmt::format("{} {}do not divide a sequence of {} tokens{}", p.context,
                          exchange ? "" : "ranks with an early and a late piece each ", length, remedy));
  }
  if (!heads_fit(p.context)) {
    check.add("parallel.context",
              fmt::format("{} does not divide the {} heads of a tensor rank, which all_to_all spreads{}", p.context,
                          heads, remedy));
  }
}

void check_data(Check& check) {
  const Parallel& p = check.plan.parallel;
  const std::int64_t left = check.world / (std::int64_t{p.tensor} * p.context * p.pipeline);
  if (p.data == 0 || p.data == left) return;
  check.add("parallel.data", fmt::format("{} given, but {} over tensor {} x context {} x pipeline {} leave {}; write "
                                         "auto or {}",
                                         p.data, gpus_of(check.cluster), p.tensor, p.context, p.pipeline, left, left));
}

}  // namespace

bool check_degrees(Check& check) {
  const Parallel& p = check.plan.parallel;
  struct Degree {
    const char* key;
    std::int64_t value;
  };
  const std::array<Degree, 3> degrees{{{"tensor", p.tensor}, {"context", p.context}, {"pipeline", p.pipeline}}};
  const std::int64_t product = degrees[0].value * degrees[1].value * degrees[2].value;
  if (divides(product, check.world)) {
    const std::size_t before = check.problems.size();
    check_data(check);
    return check.problems.size() == before;
  }
  bool alone = false;  // whether one of them fails by itself
  for (const Degree& d : degrees) {
    if (divides(d.value, check.world)) continue;
    alone = true;
    const auto allowed = [&](std::int64_t v) {
      return divides(product / d.value * v, check.world) && (d.key != degrees[0].key || shapes_fit(check.model, v));
    };
    check.add(fmt::format("parallel.{}", d.key), fmt::format("{} does not divide {}{}", d.value, gpus_of(check.cluster),
                                                             nearest_values(d.value, check.world, allowed)));
  }
  if (alone) return false;
  const Degree& d = *std::max_element(degrees.begin(), degrees.end(),
                                      [](const Degree& a, const Degree& b) { return a.value < b.value; });
  const auto allowed = [&](std::int64_t v) { return divides(product / d.value * v, check.world); };
  check.add(fmt::format("parallel.{}", d.key),
            fmt::format("tensor {} x context {} x pipeline {} = {} does not divide {}{}", p.tensor, p.context,
                        p.pipeline, product, gpus_of(check.cluster), nearest_values(d.value, check.world, allowed)));
  return false;
}

bool check_experts(Check& check) {
  const Parallel& p = check.plan.parallel;
  const Experts& e = check.model.experts;
  const std::size_t before = check.problems.size();
  if (e.count == 0) {
    const std::string none = fmt::format("{} has no experts", check.model.name);
    if (p.expert > 1) check.add("parallel.expert", none + "; write 1");
    if (p.expert_tensor > 1) check.add("parallel.expert_tensor", none + "; write 1");
    if (check.plan.routing.max_nodes > 0) check.add("routing.max_nodes", none + "; write 0");
    return check.problems.size() == before;
  }
  const bool stages_fit = divides(p.pipeline, check.world);
  const std::int64_t ranks = stages_fit ? check.world / p.pipeline : check.world;  // of a stage
  const std::string of_stage = fmt::format("the {} GPUs of a pipeline rank", ranks);
  const auto expert_fits = [&](std::int64_t v) { return divides(v, e.count) && divides(v * p.expert_tensor, ranks); };
  const auto cut_fits = [&](std::int64_t v) { return divides(v, e.ffn) && divides(v * p.expert, ranks); };
  const auto refuse = [&](const char* key, const std::string& reason, const std::string& remedy) {
    check.add(std::string("parallel.") + key, reason + remedy);
  };
  if (!divides(p.expert, e.count)) {
    refuse("expert", fmt::format("{} does not divide {} experts", p.expert, e.count),
           nearest_values(p.expert, e.count, expert_fits));
  } else if (stages_fit && !divides(p.expert, ranks)) {
    refuse("expert", fmt::format("{} does not divide {}", p.expert, of_stage),
           nearest_values(p.expert, e.count, expert_fits));
  }
  if (!divides(p.expert_tensor, e.ffn)) {
    refuse("expert_tensor", fmt::format("{} does not divide the experts' width {}", p.expert_tensor, e.ffn),
           nearest_values(p.expert_tensor, e.ffn, cut_fits));
  } else if (stages_fit && check.problems.size() == before &&
             !divides(std::int64_t{p.expert} * p.expert_tensor, ranks)) {
    refuse("expert_tensor",
           fmt::format("expert {} x expert_tensor {} = {} does not divide {}", p.expert, p.expert_tensor,
                       std::int64_t{p.expert} * p.expert_tensor, of_stage),
           nearest_values(p.expert_tensor, e.ffn, cut_fits));
  }
  const double reachable =
      static_cast<double>(e.count) / p.expert * check.cluster.gpus_per_node * check.plan.routing.max_nodes;
  if (check.plan.routing.max_nodes > 0 && reachable < e.top_k) {
    check.add("routing.max_nodes", fmt::format("{} nodes hold at most {:.3g} experts, a token needs {}",
                                               check.plan.routing.max_nodes, reachable, e.top_k));
  }
  return check.problems.size() == before && stages_fit;
}

void check_model(Check& check) {
  check_tensor(check);
  check_sequence(check);
  check_context(check);
}

}  // namespace stepsim
