#include "sim/inputs.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "workloads/check.hpp"
#include "workloads/experiment.hpp"

namespace stepsim {
namespace {

namespace fs = std::filesystem;

bool is_home(const fs::path& folder) {
  return fs::is_directory(folder / "platforms") && fs::is_directory(folder / "workloads");
}

std::string home_above(fs::path folder) {
  std::error_code ignored;
  folder = fs::weakly_canonical(folder, ignored);
  for (; !folder.empty(); folder = folder.parent_path()) {
    if (is_home(folder)) {
      const fs::path near = folder.lexically_proximate(fs::current_path(ignored));
      return *near.begin() == ".." ? folder.string() : near.string();
    }
    if (folder == folder.parent_path()) break;
  }
  return "";
}

// The file a name means, or a problem.
std::string find_file(Reading& reading, const Request& request, Document document, const std::string& value) {
  std::string reason;
  const auto path = locate(request.home, document, value, ".", reason);
  if (path) return *path;
  reading.problems.push_back({"", 0, std::string(to_text(document)), reason});
  return "";
}

// Paths of the parts: the experiment's, replaced by those that were named one by one.
Experiment parts_of(Reading& reading, const Request& request) {
  Experiment parts;
  if (!request.experiment.empty()) {
    const std::string file = find_file(reading, request, Document::experiment, request.experiment);
    if (!file.empty()) parts = read_experiment(reading, file, request.home);
  }
  const auto replace = [&](Document document, const std::string& value, std::string& path) {
    if (!value.empty()) path = find_file(reading, request, document, value);
    if (path.empty() && request.experiment.empty() && value.empty() && document != Document::scenario) {
      reading.problems.push_back({"", 0, std::string(to_text(document)),
                                  "not given; name an experiment, or --model, --cluster and --plan"});
    }
  };
  replace(Document::model, request.model, parts.model);
  replace(Document::cluster, request.cluster, parts.cluster);
  replace(Document::plan, request.plan, parts.plan);
  if (request.scenario == "none") {
    parts.scenario.clear();
  } else {
    replace(Document::scenario, request.scenario, parts.scenario);
  }
  return parts;
}

// "plan" + "schedule"; readers that head their keys with the document's name are left alone.
std::string with_document(const std::string& key, const std::string& document) {
  return key.starts_with(document + ".") ? key : document + "." + key;
}

// Takes what one document's reader gathered; keys of --set and of the experiment are named as the user wrote them, with
// their document.
void take(Reading& into, Inputs& in, Reading&& from, const std::string& document, const std::string& experiment) {
  for (Problem& p : from.problems) {
    if (p.file == "--set" || p.file == experiment) p.key = with_document(p.key, document);
    into.problems.push_back(std::move(p));
  }
  for (std::string& note : from.notes) in.notes.push_back(document + ": " + note);
  for (Explained& e : from.explained) in.explained.push_back({with_document(e.key, document), e.value, e.origin, e.where});
}

// What `read` gathers, or what it gathered when the same was read before.
template <class T, class Read>
T read_once(std::map<std::string, InputCache::Kept<T>>* kept, const std::string& path, const std::vector<Override>& overrides,
            const std::string& more, Reading& reading, const Read& read) {
  if (kept == nullptr) return read(reading);
  std::string key = path + "\n" + more;
  for (const Override& o : overrides) key += "\n" + o.key + "=" + o.value + " " + o.from.text();
  auto known = kept->find(key);
  if (known == kept->end()) {
    InputCache::Kept<T> fresh;
    fresh.value = read(fresh.reading);
    known = kept->emplace(key, std::move(fresh)).first;
  }
  reading = known->second.reading;
  return known->second.value;
}

}  // namespace

std::string find_home(const std::string& program, const std::string& experiment) {
  if (const char* home = std::getenv("STEPSIM_HOME"); home != nullptr && *home != '\0') return home;
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  for (const fs::path& start : {self.empty() ? fs::path(program) : self, fs::path("."), fs::path(experiment)}) {
    if (const std::string home = home_above(start.parent_path().empty() ? "." : start.parent_path()); !home.empty()) return home;
  }
  return "";
}

Inputs read_inputs(const Request& request, PlanSource& source, InputCache* cache) {
  Reading reading;
  Inputs in;
  const Experiment parts = parts_of(reading, request);
  const Overrides overrides = split_overrides(reading, request.overrides, parts.set);
  in.overrides = request.overrides;
  in.experiment = parts.file;
  in.set = parts.set;
  for (const auto& [what, path] : {std::pair("model", parts.model.empty() ? parts.model : model_file(parts.model)), std::pair("cluster", parts.cluster),
                                   std::pair("plan", parts.plan), std::pair("scenario", parts.scenario)}) {
    if (!path.empty()) in.files.emplace_back(what, path);
  }
  if (!parts.plan.empty()) {
    Reading of_plan;
    in.plan = read_plan(of_plan, parts.plan, overrides.plan);
    source = source_of(parts.plan, of_plan);
    take(reading, in, std::move(of_plan), "plan", parts.file);
  }
  if (!parts.model.empty()) {
    Reading of_model;
    in.model = read_once(cache == nullptr ? nullptr : &cache->models, parts.model, overrides.model, "", of_model,
                         [&](Reading& r) { return read_model(r, parts.model, overrides.model); });
    take(reading, in, std::move(of_model), "model", parts.file);
  }
  bool cluster_sound = false;
  if (!parts.cluster.empty()) {
    Reading of_cluster;
    const std::string rates = in.plan.rates == Rates::calibrated ? "calibrated" : "speed_of_light";
    in.cluster = read_once(cache == nullptr ? nullptr : &cache->clusters, parts.cluster, overrides.cluster, rates, of_cluster,
                           [&](Reading& r) { return read_cluster(r, parts.cluster, overrides.cluster, in.plan.rates, shipped_folder(request.home, Document::cluster)); });
    cluster_sound = of_cluster.problems.empty();
    in.planned_on = in.cluster;
    take(reading, in, std::move(of_cluster), "cluster", parts.file);
  }
  if (!parts.scenario.empty()) {
    Reading of_scenario;
    const Scenario scenario = read_scenario(of_scenario, parts.scenario, overrides.scenario);
    in.scenario = scenario.name;
    if (cluster_sound) in.cluster = apply(of_scenario, std::move(in.cluster), scenario);
    take(reading, in, std::move(of_scenario), "scenario", parts.file);
  } else if (!overrides.scenario.empty()) {
    const Override& first = overrides.scenario.front();
    reading.problems.push_back({first.from.file, first.from.line, "scenario." + first.key, "there is no scenario to change; name one with --scenario"});
  }
  reading.throw_if_any();
  in.name = parts.name.empty() ? in.model.name + " " + in.plan.name + " on " + in.cluster.name : parts.name;
  return in;
}

namespace {

// What a reader of the result should know beside it.
void add_notes(Inputs& in) {
  const Precisions& precision = in.plan.precision;
  const Gpu& gpu = in.cluster.gpu;
  const bool fp8 = precision.linear == Precision::fp8 || precision.attention == Precision::fp8 || precision.head == Precision::fp8;
  if (fp8 && gpu.fp8_peak == gpu.bf16_peak) {
    in.notes.push_back(fmt::format("plan: products in FP8 on {}, which has no FP8 units: they take as long as in BF16", gpu.name));
  }
  if (const int layers = in.model.prediction_layers; layers > 0 && !in.plan.multi_token_prediction) {
    in.notes.push_back(fmt::format("plan: {} layer{} of multi-token prediction ({:.3g} B parameters) left out; multi_token_prediction: true trains {}", layers,
                                   layers == 1 ? "" : "s", count_parameters(in.model).prediction / 1e9, layers == 1 ? "it" : "them"));
  }
  if (const int table = in.model.learned_positions, length = in.plan.batch.sequence_length; table > 0 && length > table) {
    in.notes.push_back(fmt::format("plan: sequences of {} tokens, but the model has learned positions for {}: it would have to be another model",
                                   length, table));
  }
  const Parallel& p = in.plan.parallel;
  if (p.context > 1 && p.context_method != Parallel::ContextMethod::ring && in.plan.overlap.context == Overlap::Policy::async) {
    in.notes.push_back(fmt::format("plan: overlap.context is async, and attention waits for all of the {} of its inputs: nothing is hidden (the "
                                   "ring hides it)",
                                   p.context_method == Parallel::ContextMethod::all_gather ? "all-gather" : "all-to-all"));
  }
}

}  // namespace

Inputs load(const Request& request, InputCache* cache) {
  PlanSource source;
  Inputs in = read_inputs(request, source, cache);
  std::vector<Problem> problems = check(in.model, in.cluster, in.plan, source);
  if (!problems.empty()) {
    Reading of_check{std::move(problems), {}};
    Reading reading;
    take(reading, in, std::move(of_check), "plan", in.experiment);
    reading.throw_if_any();
  }
  in.plan = resolve(in.plan, in.cluster);
  add_notes(in);
  return in;
}

}  // namespace stepsim
