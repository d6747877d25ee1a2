#include "sim/explore/sweep_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>

#include "sim/base/fields.hpp"
#include "sim/explore/expression.hpp"
#include "sim/explore/key.hpp"
#include "sim/explore/sweep_values.hpp"
#include "workloads/experiment.hpp"

namespace stepsim {
namespace {

constexpr double kMostPoints = 1e6;
constexpr std::array<Document, 5> kDocuments{Document::experiment, Document::model, Document::cluster, Document::plan,
                                             Document::scenario};

// Keys that take their values together: one of `product`, or several of `zip`.
struct Varied {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> values;  // [value][key]
};

bool names_document(const std::string& key) {
  for (const Document d : kDocuments) {
    if (key == to_text(d)) return true;
  }
  return false;
}

// A key that --set knows the form of, or a document.
std::string key_problem(const std::string& key) {
  if (names_document(key)) return "";
  const std::size_t dot = key.find('.');
  for (const char* document : {"model", "cluster", "plan", "scenario"}) {
    if (dot != std::string::npos && key.substr(0, dot) == document && dot + 1 < key.size()) return "";
  }
  return "write DOCUMENT.KEY such as plan.schedule, or experiment, model, cluster, plan, scenario";
}

// Paths in a sweep's file are relative to it, as in an experiment's.
std::string beside(const std::string& path, const std::string& key, const std::string& value) {
  const auto ends = [&](std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return value.ends_with(ending); });
  };
  const bool of_cluster = key == "cluster.platform" || key == "cluster.gpu", of_plan = key == "plan.schedule" || key == "plan.routing.balance";
  if (!names_document(key) && !of_cluster && !of_plan) return value;
  const bool is_path = of_plan ? ends({".csv", ".yaml", ".yml"})
                               : value.find('/') != std::string::npos || ends({".yaml", ".yml", ".json"}) || (of_cluster && ends({".xml"}));
  if (!is_path) return value;
  const std::string found = (std::filesystem::path(path).parent_path() / value).lexically_normal().string();
  return found.find('/') == std::string::npos ? "./" + found : found;
}

class SpecReader {
 public:
  SpecReader(Reading& reading, const std::string& path, Fields& fields) : reading_(reading), path_(path), f_(fields) {}

  void read_base(Request& base) {
    for (const Document d : kDocuments) {
      std::string value;
      f_.text(to_text(d), value, or_default("not given"));
      if (!value.empty()) apply(base, std::string(to_text(d)), beside(path_, std::string(to_text(d)), value));
    }
    each("set", [&](const std::string& key, const YAML::Node& value, int line) {
      if (names_document(key)) return problem(line, key, "write it outside of set");
      YAML::Node list;
      list.push_back(value);
      for (const std::string& text : sweep_values(reading_, path_, key, list, line)) apply(base, key, beside(path_, key, text));
    });
  }

  std::vector<Varied> read_dimensions() {
    each("product", [&](const std::string& key, const YAML::Node& value, int line) {
      Varied one{{key}, {}};
      for (const std::string& text : sweep_values(reading_, path_, key, value, line)) one.values.push_back({beside(path_, key, text)});
      dimensions_.push_back(std::move(one));
    });
    const std::optional<YAML::Node> zip = f_.node("zip", or_default("nothing goes together"));
    if (zip && f_.has("zip")) read_zip(*zip);
    return std::move(dimensions_);
  }

 private:
  void problem(int line, const std::string& key, const std::string& reason) {
    reading_.problems.push_back({path_, line, key, reason});
  }

  // Every key of a mapping whose keys are those of inputs.
  template <class Visit>
  void each(std::string_view name, const Visit& visit) {
    const std::optional<YAML::Node> node = f_.node(name, or_default("nothing"));
    if (!node || !f_.has(name)) return;
    if (!node->IsMap()) return f_.problem(name, "write a mapping with a line for each key");
    visit_keys(*node, visit);
  }

  template <class Visit>
  void visit_keys(const YAML::Node& mapping, const Visit& visit) {
    for (const auto& item : mapping) {
      const int line = item.first.Mark().line + 1;
      if (!item.first.IsScalar()) {
        problem(line, "", "a key is a text");
        continue;
      }
      const std::string& key = item.first.Scalar();
      const std::string why = key_problem(key);
      if (!why.empty()) {
        problem(line, key, why);
      } else if (!seen_.insert(key).second) {
        problem(line, key, "is already given above");
      } else {
        visit(key, item.second, line);
      }
    }
  }

  void read_zip(const YAML::Node& zip) {
    if (!zip.IsSequence()) return f_.problem("zip", "write a list of mappings: - {KEY: [...], KEY: [...]}");
    for (const YAML::Node& group : zip) {
      const int line = group.Mark().line + 1;
      if (!group.IsMap()) {
        problem(line, "zip", "write a mapping: - {KEY: [...], KEY: [...]}");
        continue;
      }
      Varied together;
      const std::size_t before = reading_.problems.size();
      visit_keys(group, [&](const std::string& key, const YAML::Node& value, int at) {
        const std::vector<std::string> values = sweep_values(reading_, path_, key, value, at);
        if (values.empty()) return;
        if (together.keys.empty()) together.values.resize(values.size());
        if (values.size() != together.values.size()) {
          return problem(at, key, fmt::format("has {} values, {} has {}: keys of a zip go together", values.size(),
                                              together.keys.front(), together.values.size()));
        }
        together.keys.push_back(key);
        for (std::size_t i = 0; i < values.size(); ++i) together.values[i].push_back(beside(path_, key, values[i]));
      });
      if (reading_.problems.size() == before) dimensions_.push_back(std::move(together));
    }
  }

  Reading& reading_;
  const std::string& path_;
  Fields& f_;
  std::set<std::string> seen_;
  std::vector<Varied> dimensions_;
};

using Values = std::vector<std::pair<std::string, std::string>>;

// The combinations of all dimensions, the last one fastest, by number.
class Combinations {
 public:
  explicit Combinations(std::vector<Varied> dimensions) : dimensions_(std::move(dimensions)) {
    for (const Varied& d : dimensions_) size_ *= d.values.size();
  }
  std::size_t size() const { return size_; }

  Values values(std::size_t number) const {
    std::vector<std::size_t> digits;
    for (auto d = dimensions_.rbegin(); d != dimensions_.rend(); ++d) {
      digits.push_back(number % d->values.size());
      number /= d->values.size();
    }
    Values values;
    for (const Varied& d : dimensions_) {
      for (std::size_t k = 0; k < d.keys.size(); ++k) values.emplace_back(d.keys[k], d.values[digits.back()][k]);
      digits.pop_back();
    }
    return values;
  }

 private:
  std::vector<Varied> dimensions_;
  std::size_t size_ = 1;
};

// Numbers of those that the filter keeps, asked of a database in memory that has a column for each key.
std::vector<std::size_t> filtered(Reading& reading, const std::string& path, int line, const std::string& filter, const Combinations& all) {
  std::vector<std::size_t> kept;
  const Values first = all.values(0);
  if (filter.empty() || first.empty()) {
    kept.resize(all.size());
    std::iota(kept.begin(), kept.end(), 0);
    return kept;
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : first) keys.push_back(key);
  try {
    Database memory(":memory:", Database::Access::create);
    std::string names, marks;
    for (const std::string& key : keys) {
      names += fmt::format(", {}", bracketed(key));
      marks += ", ?";
    }
    memory.run(fmt::format("CREATE TABLE points(position_{})", names));
    Statement put = memory.prepare(fmt::format("INSERT INTO points VALUES(?{})", marks));
    memory.run("BEGIN");
    for (std::size_t i = 0; i < all.size(); ++i) {
      put.reset().bind(static_cast<double>(i));
      for (const auto& [key, value] : all.values(i)) put.bind(cell_from(value));
      put.run();
    }
    memory.run("COMMIT");
    Statement chosen = memory.prepare(fmt::format("SELECT position_ FROM points WHERE ({}) ORDER BY position_", to_sql(filter)));
    while (chosen.step()) kept.push_back(static_cast<std::size_t>(std::get<double>(chosen.cell(0))));
  } catch (const DatabaseError& e) {
    reading.problems.push_back({path, line, "filter", fmt::format("{}; it may name {}", e.what(), fmt::join(keys, ", "))});
  }
  return kept;
}

SweepPoint point_of(const Request& base, const Values& values, std::int64_t position) {
  SweepPoint point{{position, label_of(values), {}}, base};
  for (const auto& [key, value] : values) {
    point.entry.varied.emplace_back(key, cell_from(value));
    apply(point.request, key, value);
  }
  return point;
}

}  // namespace

void apply(Request& request, const std::string& key, const std::string& value) {
  if (key == "experiment") request.experiment = value;
  if (key == "model") request.model = value;
  if (key == "cluster") request.cluster = value;
  if (key == "plan") request.plan = value;
  if (key == "scenario") request.scenario = value;
  if (!names_document(key)) request.overrides.push_back(key + "=" + value);
}

std::string points_key(const Sweep& sweep) {
  std::string text = sweep.name;
  for (std::size_t i = 0; i < sweep.size; ++i) {
    const Request r = sweep.point(i).request;
    for (const std::string& part : {r.experiment, r.model, r.cluster, r.plan, r.scenario}) text += "\n" + part;
    for (const std::string& o : r.overrides) text += "\n" + o;
  }
  return key_of_text(text);
}

std::string label_of(const std::vector<std::pair<std::string, std::string>>& values) {
  std::string label;
  for (const auto& [key, value] : values) {
    label += (label.empty() ? "" : "/") + value;
  }
  return label.empty() ? "the experiment itself" : label;
}

Sweep read_sweep(const std::string& path, const std::string& home, const std::vector<std::string>& overrides) {
  Reading reading;
  Sweep sweep;
  std::optional<Fields> f = open_document(reading, path, {});
  reading.throw_if_any();
  Request base;
  base.home = home;
  base.overrides = overrides;
  f->text("name", sweep.name, required());
  SpecReader reader(reading, path, *f);
  reader.read_base(base);
  const std::vector<Varied> dimensions = reader.read_dimensions();
  for (const std::string& override : overrides) {
    const std::string key = override.substr(0, override.find('='));
    const bool varied = std::any_of(dimensions.begin(), dimensions.end(), [&](const Varied& d) {
      return std::find(d.keys.begin(), d.keys.end(), key) != d.keys.end();
    });
    if (varied) reading.problems.push_back({"--set", 0, key, "the sweep varies it"});
  }
  std::string filter;
  f->text("filter", filter, or_default("every combination"));
  const int line = f->origin("filter").line;
  f->finish();
  double count = 1;
  for (const Varied& d : dimensions) count *= static_cast<double>(d.values.size());
  if (count > kMostPoints) f->problem("product", fmt::format("makes {:.3g} points; at most {:.0f}", count, kMostPoints));
  reading.throw_if_any();
  const auto all = std::make_shared<const Combinations>(dimensions);
  const auto kept = std::make_shared<const std::vector<std::size_t>>(filtered(reading, path, line, filter, *all));
  reading.throw_if_any();
  if (kept->empty()) throw InputError({{path, line, "filter", "drops every point"}});
  sweep.size = kept->size();
  sweep.filtered = static_cast<std::int64_t>(all->size() - kept->size());
  sweep.point = [=](std::size_t i) { return point_of(base, all->values((*kept)[i]), static_cast<std::int64_t>(i)); };
  return sweep;
}

}  // namespace stepsim
