#include "workloads/plan_yaml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepsim {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string in_double_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "\"";
}

std::string flow(const Pairs& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value);
  return "{" + text + "}";
}

void line(std::string& out, const std::string& key, const std::string& value) { out += key + ": " + value + "\n"; }

std::string whole(std::int64_t value) { return fmt::format("{}", value); }
std::string bytes(Bytes size) { return fmt::format("{}B", size.value); }
std::string truth(bool value) { return value ? "true" : "false"; }

std::string parallel_of(const Parallel& p) {
  std::vector<std::string> order;
  for (const Axis axis : p.order) order.emplace_back(to_text(axis));
  return flow({{"tensor", whole(p.tensor)},
               {"sequence", truth(p.sequence)},
               {"context", whole(p.context)},
               {"context_method", std::string(to_text(p.context_method))},
               {"expert", whole(p.expert)},
               {"expert_tensor", whole(p.expert_tensor)},
               {"pipeline", whole(p.pipeline)},
               {"virtual_stages", whole(p.virtual_stages)},
               {"data", p.data == 0 ? "auto" : whole(p.data)},
               {"zero", whole(p.zero)},
               {"zero_group", p.zero_group == 0 ? "all" : p.zero_group < 0 ? "node" : whole(p.zero_group)},
               {"reshard_after_forward", truth(p.reshard_after_forward)},
               {"order", fmt::format("[{}]", fmt::join(order, ", "))}});
}

std::string precision_of(const Precisions& p) {
  Pairs pairs;
  const auto add = [&](const char* key, Precision format) { pairs.emplace_back(key, std::string(to_text(format))); };
  add("linear", p.linear);
  add("attention", p.attention);
  add("head", p.head);
  add("weights", p.weights);
  add("gradients", p.gradients);
  add("master", p.master);
  add("moments", p.moments);
  add("activations", p.activations);
  add("gather", p.gather);
  add("reduce", p.reduce);
  add("dispatch", p.dispatch);
  add("combine", p.combine);
  add("pipeline", p.pipeline);
  return flow(pairs);
}

std::string recompute_of(const Recompute& r) {
  if (r.full) return "full";
  if (r.modules.empty()) return "none";
  std::vector<std::string> names;
  for (const Module module : r.modules) names.emplace_back(to_text(module));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

std::string policy_of(Overlap::Policy policy) {
  return policy == Overlap::Policy::blocking ? "blocking" : policy == Overlap::Policy::async ? "async" : "paired";
}

std::string overlap_of(const Overlap& o) {
  return flow({{"gather_prefetch", whole(o.gather_prefetch)},
               {"reduce", o.reduce == Overlap::Reduce::async ? "async" : "at_end"},
               {"parameters", o.parameters == Overlap::Parameters::async ? "async" : "at_end"},
               {"tensor", policy_of(o.tensor)},
               {"tensor_chunks", whole(o.tensor_chunks)},
               {"context", policy_of(o.context)},
               {"expert", policy_of(o.expert)},
               {"pipeline", policy_of(o.pipeline)}});
}

}  // namespace

std::string to_yaml(const ParallelPlan& p) {
  std::string out;
  line(out, "name", in_double_quotes(p.name));
  line(out, "parallel", parallel_of(p.parallel));
  line(out, "batch", flow({{"global_sequences", whole(p.batch.global_sequences)},
                           {"microbatch_sequences", whole(p.batch.microbatch_sequences)},
                           {"sequence_length", whole(p.batch.sequence_length)}}));
  line(out, "schedule", in_double_quotes(p.schedule));
  if (!p.stage_layers.empty()) line(out, "stage_layers", fmt::format("[{}]", fmt::join(p.stage_layers, ", ")));
  line(out, "precision", precision_of(p.precision));
  const auto word = [](const std::vector<std::string_view>& words, auto choice) {
    return std::string(words[static_cast<std::size_t>(choice)]);
  };
  line(out, "kernels", flow({{"attention", word(attention_words, p.kernels.attention)},
                             {"elementwise", p.kernels.fused ? "fused" : "unfused"},
                             {"dropout", truth(p.kernels.dropout)},
                             {"loss", word(loss_words, p.kernels.loss)},
                             {"optimizer", word(optimizer_words, p.kernels.optimizer)},
                             {"shards", word(shards_words, p.kernels.shards)}}));
  line(out, "multi_token_prediction", truth(p.multi_token_prediction));
  line(out, "clip_gradients", truth(p.clip_gradients));
  line(out, "recompute", recompute_of(p.recompute));
  if (p.recompute.layers > 0) line(out, "recompute_layers", whole(p.recompute.layers));
  const Algorithms& c = p.collectives;
  line(out, "collectives", flow({{"all_gather", c.all_gather}, {"reduce_scatter", c.reduce_scatter}, {"all_reduce", c.all_reduce},
                                 {"all_to_all", c.all_to_all}}));
  line(out, "overlap", overlap_of(p.overlap));
  line(out, "sms", flow({{"communication", whole(p.sms.communication)},
                         {"policy", p.sms.policy == SmUse::Sharing::shared ? "shared" : "partition"}}));
  line(out, "routing", flow({{"balance", in_double_quotes(p.routing.balance)}, {"max_nodes", whole(p.routing.max_nodes)}}));
  line(out, "memory", flow({{"context", bytes(p.memory.context)},
                            {"communicator", bytes(p.memory.communicator)},
                            {"fragmentation", fmt::format("{}", p.memory.fragmentation)}}));
  line(out, "rates", p.rates == Rates::calibrated ? "calibrated" : "speed_of_light");
  return out;
}

}  // namespace stepsim
