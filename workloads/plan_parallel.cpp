// The plan's `parallel`, `schedule` and `stage_layers`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "workloads/plan_reading.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/schedule_csv.hpp"

namespace stepsim {
namespace {

constexpr std::array<Axis, 5> kAxes{Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline};

// A number of ranks, or a word that stands for one.
void ranks_or_word(Fields& f, std::string_view key, int& into, const std::vector<std::pair<std::string, int>>& words,
                   std::string_view why_default) {
  const Need need = or_default(why_default);
  if (!f.has(key)) {
    f.node(key, need);  // marks the key as known
    return f.explain(key, words.front().first, need);
  }
  const std::optional<YAML::Node> node = f.node(key, need);
  if (!node) return;
  if (!node->IsScalar()) return f.integer(key, into, need, 1, kMostRanks);
  const std::string& text = node->Scalar();
  std::vector<std::string> names;
  for (const auto& [name, value] : words) {
    names.push_back(name);
    if (name != text) continue;
    into = value;
    return f.explain(key, text, need);
  }
  if (text.find_first_not_of("0123456789") == std::string::npos) return f.integer(key, into, need, 1, kMostRanks);
  const std::string near = nearest(text, names);
  f.problem(key, fmt::format("\"{}\" is neither {} nor a whole number of at least 1{}", text, fmt::join(names, " nor "),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

void read_order(Fields& f, std::array<Axis, 5>& order) {
  const Need need = or_default("tensor groups stand closest, pipeline stages furthest apart");
  std::vector<std::string> names, allowed;
  for (const Axis axis : order) names.emplace_back(to_text(axis));
  for (const Axis axis : kAxes) allowed.emplace_back(to_text(axis));
  const std::size_t before = f.problems();
  f.texts("order", names, need);
  if (f.problems() > before) return;

  for (const std::string& name : names) {
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) continue;
    const std::string near = nearest(name, allowed);
    f.problem("order", fmt::format("\"{}\" is not one of {}{}", name, fmt::join(allowed, ", "),
                                   near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  for (const std::string& name : allowed) {
    const auto times = std::count(names.begin(), names.end(), name);
    if (times != 1) f.problem("order", fmt::format("{} stands {} times in it; each axis once is due", name, times));
  }
  if (f.problems() > before) return;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = std::find(allowed.begin(), allowed.end(), names[i]);
    order[i] = kAxes[static_cast<std::size_t>(at - allowed.begin())];
  }
}

}  // namespace

void read_parallel(Fields& top, Parallel& p) {
  Fields f = top.mapping("parallel", or_default("data parallelism only"));
  const Need off = or_default("not used");
  f.integer("tensor", p.tensor, off, 1, kMostRanks);
  f.boolean("sequence", p.sequence, off);
  f.integer("context", p.context, off, 1, kMostRanks);
  std::string method = "ring";
  f.choice("context_method", method, {kContextMethods.begin(), kContextMethods.end()}, or_default("keys and values go around a ring"));
  const auto chosen = std::find(kContextMethods.begin(), kContextMethods.end(), method);
  if (chosen != kContextMethods.end()) p.context_method = static_cast<Parallel::ContextMethod>(chosen - kContextMethods.begin());
  f.integer("expert", p.expert, off, 1, kMostRanks);
  f.integer("expert_tensor", p.expert_tensor, off, 1, kMostRanks);
  f.integer("pipeline", p.pipeline, off, 1, kMostRanks);
  f.integer("virtual_stages", p.virtual_stages, or_default("one chunk a pipeline rank"), 1, 10'000);
  ranks_or_word(f, "data", p.data, {{"auto", 0}}, "all GPUs that the other dimensions leave");
  f.integer("zero", p.zero, or_default("optimizer states are sharded"), 0, 3);
  ranks_or_word(f, "zero_group", p.zero_group, {{"all", 0}, {"node", -1}}, "states are sharded over all data ranks");
  f.boolean("reshard_after_forward", p.reshard_after_forward, or_default("ZeRO-3 gathers again for the backward pass"));
  read_order(f, p.order);
  f.finish();
}

void read_schedule(Reading& reading, Fields& f, std::string& schedule, std::optional<Schedule>& passes) {
  namespace fs = std::filesystem;
  const std::size_t before = f.problems();
  f.text("schedule", schedule, or_default("one forward, one backward"));
  if (f.problems() > before || !names_a_file(schedule)) return;
  schedule = (fs::path(f.origin("schedule").folder()) / schedule).lexically_normal().string();
  std::error_code none;
  if (!fs::exists(schedule, none)) return f.problem("schedule", fmt::format("there is no file {}", schedule));
  if (fs::is_directory(schedule, none)) return f.problem("schedule", schedule + " is a folder");
  try {
    passes = read_schedule_csv(schedule);
  } catch (const InputError& wrong) {
    reading.problems.insert(reading.problems.end(), wrong.problems().begin(), wrong.problems().end());
  }
}

void read_stage_layers(Fields& f, std::vector<int>& stage_layers) {
  const Need need = or_default("as even as can be");
  const bool given = f.has("stage_layers");
  const std::optional<YAML::Node> node = f.node("stage_layers", need);
  if (given && !node) return;
  if (!given || (node->IsScalar() && node->Scalar() == "auto")) return f.explain("stage_layers", "auto", need);
  if (!node->IsSequence())
    return f.problem("stage_layers", "write auto, or a list with a number of layers for each stage");
  f.integers("stage_layers", stage_layers, need, 0);
  if (node->size() == 0)
    f.problem("stage_layers", "the list is empty; write auto, or a number of layers for each stage");
}

}  // namespace stepsim
