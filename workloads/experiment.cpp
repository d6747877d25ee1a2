#include "workloads/experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace stepsim {
namespace {

namespace fs = std::filesystem;

bool is_path(const std::string& value) {
  if (value.find('/') != std::string::npos) return true;
  for (const char* ending : {".yaml", ".yml", ".json", ".xml"}) {
    if (value.ends_with(ending)) return true;
  }
  return false;
}

void read_input(Fields& f, Document document, const std::string& home, std::string& into, Need need) {
  const std::string_view key = to_text(document);
  std::string value, reason;
  const std::size_t before = f.problems();
  if (!need.required && !f.has(key)) {
    f.node(key, need);  // marks the key as known
    return f.explain(key, "none", need);
  }
  f.text(key, value, need);
  if (f.problems() > before) return;
  const std::optional<std::string> path =
      locate(home, document, value, fs::path(f.file()).parent_path().string(), reason);
  if (path) into = *path;
  if (!path) f.problem(key, reason);
}

// A mapping of full keys. Values may be of any form: they are read when their document is.
void read_set(Fields& f, std::vector<Override>& into) {
  const Need need = or_default("the parts are as their files say");
  const std::optional<YAML::Node> node = f.node("set", need);
  if (!node) return;
  if (!node->IsMap()) return f.problem("set", "is no mapping; write for example {cluster.nodes: 16, plan.rates: calibrated}");
  for (const auto& pair : *node) {
    const Origin where{f.file(), pair.first.Mark().line + 1};
    YAML::Emitter value;
    value << YAML::Flow << pair.second;
    into.push_back({pair.first.IsScalar() ? pair.first.Scalar() : "set", value.c_str(), where});
  }
}

}  // namespace

std::string_view to_text(Document document) {
  switch (document) {
    case Document::model:
      return "model";
    case Document::cluster:
      return "cluster";
    case Document::plan:
      return "plan";
    case Document::scenario:
      return "scenario";
    case Document::experiment:
      return "experiment";
  }
  return "";
}

std::string shipped_folder(const std::string& home, Document document) {
  if (document == Document::cluster) return (fs::path(home) / "platforms").string();
  return (fs::path(home) / "workloads" / (std::string(to_text(document)) + "s")).string();
}

std::vector<std::string> shipped(const std::string& home, Document document) {
  std::vector<std::string> names;
  std::error_code none_shipped;
  for (const fs::directory_entry& entry : fs::directory_iterator(shipped_folder(home, document), none_shipped)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// "plan.rates=calibrated" in the place of a name: the second of two settings behind one --set.
bool is_setting(const std::string& value) {
  const std::string key = value.substr(0, value.find('='));
  const bool known = key.starts_with("plan.") || key.starts_with("cluster.") || key.starts_with("model.") || key.starts_with("scenario.");
  return known && key.size() < value.size();
}
std::string setting_advice(const std::string& value) { return fmt::format("\"{}\" is a setting; write --set {}, each with a --set of its own", value, value); }

}  // namespace

std::optional<std::string> locate(const std::string& home, Document document, const std::string& value,
                                  const std::string& folder, std::string& reason) {
  std::error_code ignored;
  if (is_path(value)) {
    const std::string path = (fs::path(folder) / value).lexically_normal().string();
    if (fs::exists(path, ignored)) return path;
    reason = is_setting(value) ? setting_advice(value) : fmt::format("there is no file {}", path);
    return std::nullopt;
  }
  if (is_setting(value)) {
    reason = setting_advice(value);
    return std::nullopt;
  }
  const std::vector<std::string> names = shipped(home, document);
  if (std::find(names.begin(), names.end(), value) != names.end()) {
    return (fs::path(shipped_folder(home, document)) / (value + ".yaml")).string();
  }
  const std::string near = nearest(value, names);
  reason = fmt::format("no {} \"{}\" is shipped; ", to_text(document), value);
  if (fs::exists(fs::path(folder) / value, ignored)) reason += fmt::format("of the file or folder here write ./{}; ", value);
  if (!near.empty()) reason += fmt::format("did you mean {}? ", near);
  reason += names.empty() ? "none are; write a path" : fmt::format("one of {}, or a path", fmt::join(names, ", "));
  return std::nullopt;
}

Experiment read_experiment(Reading& reading, const std::string& path, const std::string& home) {
  Experiment e;
  std::optional<Fields> f = open_document(reading, path, {});
  if (!f) return e;
  e.file = path;
  f->text("name", e.name, required());
  f->text("description", e.description, or_default("nothing said"));
  read_input(*f, Document::model, home, e.model, required());
  read_input(*f, Document::cluster, home, e.cluster, required());
  read_input(*f, Document::plan, home, e.plan, required());
  read_input(*f, Document::scenario, home, e.scenario, or_default("all as the data sheets say"));
  read_set(*f, e.set);
  f->finish();
  return e;
}

namespace {

void place(Reading& reading, const Override& set, Overrides& result) {
  const std::vector<std::string> documents{"model", "cluster", "plan", "scenario"};
  const std::vector<std::vector<Override>*> lists{&result.model, &result.cluster, &result.plan, &result.scenario};
  const auto refuse = [&](std::string reason) { reading.problems.push_back({set.from.file, set.from.line, set.key, std::move(reason)}); };
  const std::size_t dot = set.key.find('.');
  const std::string document = set.key.substr(0, dot);
  if (dot == std::string::npos) return refuse("write DOCUMENT.KEY=VALUE, such as plan.schedule=1f1b");
  const auto at = std::find(documents.begin(), documents.end(), document);
  if (at == documents.end()) {
    const std::string near = nearest(document, documents);
    return refuse(fmt::format("\"{}\" is not one of {}{}", document, fmt::join(documents, ", "),
                              near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  lists[static_cast<std::size_t>(at - documents.begin())]->push_back({set.key.substr(dot + 1), set.value, set.from});
}

}  // namespace

Overrides split_overrides(Reading& reading, const std::vector<std::string>& sets, const std::vector<Override>& own) {
  Overrides result;
  for (const Override& set : own) place(reading, set, result);
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos) {
      reading.problems.push_back({Origin{}.file, 0, set, "write DOCUMENT.KEY=VALUE, such as plan.schedule=1f1b"});
    } else {
      place(reading, {set.substr(0, equals), set.substr(equals + 1)}, result);
    }
  }
  return result;
}

}  // namespace stepsim
