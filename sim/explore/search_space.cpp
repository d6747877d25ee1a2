#include "sim/explore/search_space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sim/explore/sweep_spec.hpp"
#include "sim/vary.hpp"
#include "workloads/check.hpp"
#include "workloads/plan_schedule.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {
namespace {

constexpr int kMostMicrobatch = 16;      // sequences of a microbatch that are tried unless told otherwise
constexpr int kMostVirtualStages = 8;
constexpr double kMostShapes = 1 << 28, kMostLeaves = 1 << 20, kMostBases = 1 << 14;  // as a plan is numbered

using Values = std::vector<std::string>;

Values divisors(int number, int most) {
  Values values;
  for (int d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) values.push_back(fmt::format("{}", d));
  }
  return values;
}

Values counted(int most) {
  Values values;
  for (int i = 1; i <= most; ++i) values.push_back(fmt::format("{}", i));
  return values;
}

std::string text_of(const Recompute& recompute) {
  if (recompute.full) return "full";
  if (recompute.modules.empty()) return "none";
  Values names;
  for (const Module m : recompute.modules) names.emplace_back(to_text(m));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

// None, what the experiment's plan says, attention (Megatron-LM's selective recomputation), everything.
Values recomputes(const Inputs& in) {
  Values values{"none"};
  for (const std::string& more : {text_of(in.plan.recompute), std::string("[attention]"), std::string("full")}) {
    if (std::find(values.begin(), values.end(), more) == values.end()) values.push_back(more);
  }
  return values;
}

Values schedule_names() {
  Values names;
  for (const ScheduleKind& kind : schedules()) names.emplace_back(kind.name);
  return names;
}

Values default_values(std::string_view key, const Inputs& in) {
  const int world = in.cluster.ranks(), count = in.model.experts.count;
  if (key == "plan.parallel.tensor") return divisors(world, in.model.heads);
  if (key == "plan.parallel.sequence") return {"false", "true"};
  if (key == "plan.parallel.context") return divisors(world, in.plan.batch.sequence_length);
  if (key == "plan.parallel.pipeline") return divisors(world, in.model.layers + 2);
  if (key == "plan.parallel.expert") return count > 0 ? divisors(count, world) : Values{"1"};
  if (key == "plan.parallel.expert_tensor") return count > 0 ? divisors(in.model.experts.ffn, in.cluster.gpus_per_node) : Values{"1"};
  if (key == "plan.batch.microbatch_sequences") {
    return divisors(static_cast<int>(std::min<std::int64_t>(in.plan.batch.global_sequences, 1 << 30)), kMostMicrobatch);
  }
  if (key == "plan.schedule") return schedule_names();
  if (key == "plan.parallel.virtual_stages") return counted(kMostVirtualStages);
  if (key == "plan.parallel.zero") return {"0", "1", "2", "3"};
  if (key == "plan.recompute") return recomputes(in);
  return count > 0 ? Values{"async", "paired"} : Values{"async"};  // plan.overlap.expert
}

std::string key_of(const std::string& set) { return set.substr(0, set.find('=')); }

// A key that is set fixes itself and everything below it.
bool fixed(const Request& request, std::string_view key) {
  return std::any_of(request.overrides.begin(), request.overrides.end(), [&](const std::string& set) {
    const std::string name = key_of(set);
    return key == name || key.starts_with(name + ".");
  });
}

const SearchKey* find_key(const std::string& key) {
  for (const SearchKey& k : search_keys()) {
    if (k.key == key) return &k;
  }
  return nullptr;
}

}  // namespace

const std::vector<SearchKey>& search_keys() {
  using P = ParallelPlan;
  static const std::vector<SearchKey> table = {
      // First, so that plans one after another differ in it alone: their layers are the same.
      {"plan.parallel.pipeline", "PP", true, [](P& to, const P& from) { to.parallel.pipeline = from.parallel.pipeline; }},
      {"plan.parallel.tensor", "TP", true, [](P& to, const P& from) { to.parallel.tensor = from.parallel.tensor; }},
      {"plan.parallel.sequence", "SP", true, [](P& to, const P& from) { to.parallel.sequence = from.parallel.sequence; }},
      {"plan.parallel.context", "CP", true, [](P& to, const P& from) { to.parallel.context = from.parallel.context; }},
      {"plan.parallel.expert", "EP", true, [](P& to, const P& from) { to.parallel.expert = from.parallel.expert; }},
      {"plan.parallel.expert_tensor", "ETP", true,
       [](P& to, const P& from) { to.parallel.expert_tensor = from.parallel.expert_tensor; }},
      {"plan.batch.microbatch_sequences", "mb", true,
       [](P& to, const P& from) { to.batch.microbatch_sequences = from.batch.microbatch_sequences; }},
      {"plan.schedule", "", false,
       [](P& to, const P& from) {
         to.schedule = from.schedule;
         to.passes = from.passes;
       }},
      {"plan.parallel.virtual_stages", "v", false,
       [](P& to, const P& from) { to.parallel.virtual_stages = from.parallel.virtual_stages; }},
      {"plan.parallel.zero", "zero", false, [](P& to, const P& from) { to.parallel.zero = from.parallel.zero; }},
      {"plan.recompute", "recompute ", false, [](P& to, const P& from) { to.recompute = from.recompute; }},
      {"plan.overlap.expert", "", false, [](P& to, const P& from) { to.overlap.expert = from.overlap.expert; }},
  };
  return table;
}

SearchSpace::SearchSpace(const Request& given, const std::vector<std::string>& vary, InputCache& cache) {
  Request request = given;
  std::set<std::string> varied;
  for (const std::string& v : vary) varied.insert(key_of(v));
  for (const char* key : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"}) {
    const std::string full = fmt::format("plan.collectives.{}", key);
    if (!fixed(request, full) && !varied.contains(full) && !varied.contains("plan.collectives")) request.overrides.push_back(full + "=auto");
  }
  std::vector<std::string> outer;
  for (const std::string& v : vary) {
    if (find_key(key_of(v)) == nullptr) outer.push_back(v);
  }
  add_bases(request, outer, cache);
  const Inputs& in = bases_.front().inputs;
  for (const SearchKey& key : search_keys()) {
    Values values;
    for (const std::string& v : vary) {
      if (key_of(v) != key.key) continue;
      for (const auto& one : stepsim::combinations({v})) values.push_back(one.front().substr(one.front().find('=') + 1));
    }
    if (!values.empty() && fixed(given, key.key)) {
      throw InputError({{"--vary", 0, std::string(key.key), "is also given by --set; keep one"}});
    }
    if (fixed(given, key.key)) continue;
    add_dimension(key, values.empty() ? default_values(key.key, in) : values, cache);
  }
}

void SearchSpace::add_bases(const Request& request, const std::vector<std::string>& vary, InputCache& cache) {
  const auto all = stepsim::combinations(vary);
  if (static_cast<double>(all.size()) >= kMostBases) throw InputError({{"--vary", 0, "", "makes too many combinations; give fewer values"}});
  for (const std::vector<std::string>& sets : all) {
    SearchBase base;
    base.request = request;
    for (const std::string& set : sets) apply(base.request, key_of(set), set.substr(set.find('=') + 1));
    base.label = sets.empty() ? "" : name_of_combination(sets);
    PlanSource source;
    base.inputs = read_inputs(base.request, source, &cache);
    bases_.push_back(std::move(base));
  }
}

void SearchSpace::add_dimension(const SearchKey& key, Values values, InputCache& cache) {
  SearchDimension dimension{&key, {}, {}};
  for (const std::string& value : values) {
    Request one = bases_.front().request;
    one.overrides.push_back(fmt::format("{}={}", key.key, value));
    PlanSource source;
    ParallelPlan plan = read_inputs(one, source, &cache).plan;
    if (is_automatic(plan)) {
      throw InputError({{"--vary", 0, std::string(key.key), "automatic is not searched: nothing bounds it before it is made; run it by itself"}});
    }
    if (key.key == "plan.schedule" && !has_schedule(plan)) {
      throw InputError({{"--vary", 0, std::string(key.key), fmt::format("\"{}\" is no schedule; see stepsim list schedules", plan.schedule)}});
    }
    dimension.values.push_back(value);
    dimension.plans.push_back(std::move(plan));
  }
  std::int32_t& number = key.of_shape ? shapes_ : leaves_;
  if (static_cast<double>(number) * static_cast<double>(values.size()) >= (key.of_shape ? kMostShapes : kMostLeaves)) {
    throw InputError({{"--vary", 0, std::string(key.key), "makes more combinations than can be numbered; give fewer values"}});
  }
  number *= static_cast<std::int32_t>(values.size());
  dimensions_.push_back(std::move(dimension));
}

std::size_t SearchSpace::index_in(const SearchDimension& dimension, const PlanId& id) const {
  std::int32_t rest = dimension.key->of_shape ? id.shape : id.leaf;
  for (const SearchDimension& d : dimensions_) {
    if (d.key->of_shape != dimension.key->of_shape) continue;
    const auto size = static_cast<std::int32_t>(d.values.size());
    if (d.key == dimension.key) return static_cast<std::size_t>(rest % size);
    rest /= size;
  }
  return 0;
}

ParallelPlan SearchSpace::plan(const PlanId& id) const {
  const Inputs& in = bases_[id.base].inputs;
  ParallelPlan plan = in.plan;
  for (const SearchDimension& d : dimensions_) d.key->copy(plan, d.plans[index_in(d, id)]);
  if (plan.parallel.zero != 3) plan.parallel.reshard_after_forward = true;
  return resolve(std::move(plan), in.cluster);
}

ParallelPlan SearchSpace::plain_plan(std::int32_t base, std::int32_t shape) const {
  ParallelPlan plan = this->plan({base, shape, 0});
  plan.schedule = "gpipe";
  plan.passes.reset();
  plan.stage_layers.clear();
  plan.parallel.virtual_stages = 1;
  plan.parallel.zero = 1;
  plan.parallel.zero_group = 0;
  plan.parallel.reshard_after_forward = true;
  plan.recompute = {};
  plan.overlap.expert = Overlap::Policy::async;
  plan.collectives = {};
  return plan;
}

bool SearchSpace::shape_divides(std::int32_t base, std::int32_t shape) const {
  const Inputs& in = bases_[base].inputs;
  ParallelPlan plan = in.plan;
  for (const SearchDimension& d : dimensions_) {
    if (d.key->of_shape) d.key->copy(plan, d.plans[index_in(d, {base, shape, 0})]);
  }
  const Parallel& p = plan.parallel;
  const std::int64_t world = in.cluster.ranks(), replica = std::int64_t{p.tensor} * p.context * p.pipeline;
  if (world % replica != 0 || in.model.heads % p.tensor != 0 || (p.sequence && p.tensor == 1)) return false;
  if (in.model.kv_heads % p.tensor != 0 && p.tensor % in.model.kv_heads != 0) return false;
  if (world % (std::int64_t{p.expert} * p.expert_tensor * p.pipeline) != 0) return false;
  if (p.data != 0 && p.data != world / replica) return false;
  return plan.batch.global_sequences % (world / replica * plan.batch.microbatch_sequences) == 0;
}

bool SearchSpace::leaf_repeats(const PlanId& id) const {
  const ParallelPlan plan = this->plan(id);
  const auto has = [&](std::string_view key, const std::string& value) {
    return std::any_of(dimensions_.begin(), dimensions_.end(), [&](const SearchDimension& d) {
      return d.key->key == key && std::find(d.values.begin(), d.values.end(), value) != d.values.end();
    });
  };
  const bool pipeline = plan.parallel.pipeline > 1;
  const ScheduleKind* kind = find_schedule(plan.schedule);
  const bool own_chunks = kind != nullptr && kind->fixed_chunks > 0;
  if (own_chunks && plan.parallel.virtual_stages != 1 && has("plan.parallel.virtual_stages", "1")) return true;
  // In a pipeline gradients are reduced once a step: ZeRO-2 does what ZeRO-1 does.
  if (pipeline && plan.parallel.zero == 2 && has("plan.parallel.zero", "1")) return true;
  if (pipeline) return false;
  // Without a pipeline a pass follows its own forward pass in 1F1B; no order is quicker, and none keeps less.
  if (plan.schedule != "1f1b" && has("plan.schedule", "1f1b")) return true;
  return std::any_of(dimensions_.begin(), dimensions_.end(),
                     [&](const SearchDimension& d) { return d.key->key == "plan.parallel.virtual_stages" && index_in(d, id) != 0; });
}

std::int32_t SearchSpace::part_of_leaf(std::int32_t leaf, const std::vector<std::string_view>& keys) const {
  std::size_t part = 0, radix = 1;
  for (const SearchDimension& d : dimensions_) {
    if (d.key->of_shape || std::find(keys.begin(), keys.end(), d.key->key) == keys.end()) continue;
    part += radix * index_in(d, {0, 0, leaf});
    radix *= d.values.size();
  }
  return static_cast<std::int32_t>(part);
}

std::optional<PlanId> SearchSpace::given() const {
  const ParallelPlan& own = bases_.front().inputs.plan;
  PlanId id;
  std::int32_t shape_radix = 1, leaf_radix = 1;
  for (const SearchDimension& d : dimensions_) {
    const auto has_it = [&](const ParallelPlan& plan) {
      ParallelPlan other = own;
      d.key->copy(other, plan);
      return other == own;
    };
    const auto found = std::find_if(d.plans.begin(), d.plans.end(), has_it);
    if (found == d.plans.end()) return std::nullopt;
    std::int32_t& radix = d.key->of_shape ? shape_radix : leaf_radix;
    (d.key->of_shape ? id.shape : id.leaf) += radix * static_cast<std::int32_t>(found - d.plans.begin());
    radix *= static_cast<std::int32_t>(d.values.size());
  }
  return id;
}

std::vector<std::pair<std::string, std::string>> SearchSpace::values(const PlanId& id) const {
  std::vector<std::pair<std::string, std::string>> list;
  for (const SearchDimension& d : dimensions_) list.emplace_back(d.key->key, d.values[index_in(d, id)]);
  return list;
}

Request SearchSpace::request(const PlanId& id) const {
  Request request = bases_[id.base].request;
  for (const auto& [key, value] : values(id)) request.overrides.push_back(key + "=" + value);
  const ParallelPlan& own = bases_[id.base].inputs.plan;
  if (!own.parallel.reshard_after_forward && plan(id).parallel.reshard_after_forward) {
    request.overrides.emplace_back("plan.parallel.reshard_after_forward=true");
  }
  return request;
}

std::string SearchSpace::label(const PlanId& id) const {
  std::string label = bases_[id.base].label;
  for (const SearchDimension& d : dimensions_) {
    const std::string& value = d.values[index_in(d, id)];
    const std::string_view prefix = d.key->prefix;
    const bool quiet = (d.key->of_shape && value == "1" && prefix != "mb") || value == "false" || (prefix == "v" && value == "1") ||
                       (prefix == "recompute " && value == "none") || value == "async";
    if (quiet) continue;
    label += fmt::format("{}{}{}", label.empty() ? "" : " ", prefix, value == "true" ? "" : value);
  }
  return label;
}

std::vector<std::pair<std::string, std::string>> SearchSpace::described() const {
  std::vector<std::pair<std::string, std::string>> list;
  for (const SearchDimension& d : dimensions_) list.emplace_back(d.key->key, fmt::format("{}", fmt::join(d.values, ", ")));
  return list;
}

}  // namespace stepsim
