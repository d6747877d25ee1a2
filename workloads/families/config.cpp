#include "workloads/families/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/model_limits.hpp"

namespace stepsim {

int Config::integer(std::string_view key, int least) {
  int value = 0;
  fields_.integer(key, value, required(), least, kMostWidth);
  return value;
}

int Config::integer_or(std::string_view key, int fallback, std::string_view why, int least) {
  fields_.integer(key, fallback, or_default(why), least, kMostWidth);
  return fallback;
}

int Config::integer_unless_0(std::string_view key, int fallback) {
  return fallback == 0 ? integer(key) : integer_or(key, fallback, "the family's", 1);
}

bool Config::boolean_or(std::string_view key, bool fallback, std::string_view why) {
  fields_.boolean(key, fallback, or_default(why));
  return fallback;
}

double Config::number_or(std::string_view key, double fallback, std::string_view why, double most) {
  fields_.number(key, fallback, or_default(why), 0, most);
  return fallback;
}

std::vector<int> Config::integers(std::string_view key) {
  std::vector<int> values;
  fields_.integers(key, values, or_default("none"));
  return values;
}

std::vector<std::string> Config::texts(std::string_view key) {
  std::vector<std::string> values;
  fields_.texts(key, values, or_default("none"));
  return values;
}

std::string Config::text_or(std::string_view key, std::string fallback, std::string_view why) {
  fields_.text(key, fallback, or_default(why));
  return fallback;
}

std::optional<Config> Config::part(std::string_view key) {
  if (!has(key)) return std::nullopt;
  return Config(*reading_, fields_.mapping(key, or_default("")).without_nulls());
}

std::string_view Config::named(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!has(name)) continue;
    if (name != *names.begin()) note(fmt::format("{} is taken for {}", name, *names.begin()));
    return name;
  }
  return *names.begin();
}

void read_shape(Config& c, ModelSpec& model, const ShapeDefaults& defaults) {
  const std::size_t before = c.problems();
  model.layers = c.integer_unless_0("num_hidden_layers", defaults.layers);
  model.hidden = c.integer_unless_0("hidden_size", defaults.hidden);
  model.vocabulary = c.integer_unless_0("vocab_size", defaults.vocabulary);
  model.heads = c.integer_unless_0("num_attention_heads", defaults.heads);
  const bool some = defaults.kv_heads > 0;
  model.kv_heads = c.integer_or("num_key_value_heads", some ? defaults.kv_heads : model.heads,
                                some ? "the family's" : "as many as heads", 1);
  const bool said = c.has("head_dim") || defaults.head_dim > 0;
  model.head_dim = said ? c.integer_unless_0("head_dim", defaults.head_dim)
                        : c.integer_or("head_dim", model.heads > 0 ? model.hidden / model.heads : 0,
                                       "hidden_size / num_attention_heads", 1);
  if (c.problems() > before) return;
  if (model.heads % model.kv_heads != 0) {
    c.problem("num_key_value_heads", fmt::format("{} does not divide {} heads", model.kv_heads, model.heads));
  }
  if (!said && model.hidden % model.heads != 0) {
    c.problem("head_dim", fmt::format("missing, and hidden_size {} is not a multiple of num_attention_heads {}; write head_dim",
                                      model.hidden, model.heads));
  }
}

void read_tied(Config& c, ModelSpec& model, bool fallback) {
  model.tied_embeddings = c.boolean_or("tie_word_embeddings", fallback, "the family's");
}

namespace {

// The shortest pattern that gives the same layers when it is repeated.
std::vector<bool> shortest(std::vector<bool> layers) {
  for (std::size_t period = 1; period < layers.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < layers.size() && repeats; ++i) repeats = layers[i] == layers[i - period];
    if (repeats) layers.resize(period);
  }
  return layers;
}

}  // namespace

void read_window(Config& c, ModelSpec& model, std::vector<bool> pattern, int fallback) {
  const int window = c.integer_or("sliding_window", fallback, fallback > 0 ? "the family's" : "no window");
  const std::vector<std::string> types = c.texts("layer_types");
  if (!types.empty()) {
    pattern.clear();
    for (const std::string& type : types) {
      if (type != "sliding_attention" && type != "full_attention") {
        return c.problem("layer_types", fmt::format("\"{}\" is neither sliding_attention nor full_attention; no other kind of "
                                                    "layer is modelled", type));
      }
      pattern.push_back(type == "sliding_attention");
    }
    if (static_cast<int>(pattern.size()) != model.layers) {
      return c.problem("layer_types", fmt::format("names {} layers, num_hidden_layers is {}", pattern.size(), model.layers));
    }
  }
  if (std::find(pattern.begin(), pattern.end(), true) == pattern.end() && !pattern.empty()) return;  // no layer has one
  if (window == 0 && !types.empty()) return c.problem("sliding_window", "missing, and layer_types names layers that have one");
  if (window == 0) return;
  model.attention.window = window;
  const bool all = std::find(pattern.begin(), pattern.end(), false) == pattern.end();
  if (!all) model.attention.windowed = shortest(std::move(pattern));
}

void read_experts(Config& c, ModelSpec& model, std::string_view count, std::string_view width) {
  const std::size_t before = c.problems();
  Experts& e = model.experts;
  e.count = c.integer(count);
  e.top_k = c.integer("num_experts_per_tok");
  e.ffn = c.integer(width);
  if (c.problems() == before && e.top_k > e.count) {
    c.problem("num_experts_per_tok", fmt::format("{} is more than the {} experts", e.top_k, e.count));
  }
}

void read_rotary(Config& c, ModelSpec& model, double fallback) {
  constexpr std::string_view key = "partial_rotary_factor";
  std::optional<Config> rope = c.part("rope_parameters");
  const bool inside = !c.has(key) && rope && rope->has(key);
  model.rotary = (inside ? *rope : c).number_or(key, fallback, "the family's", 1);
}

}  // namespace stepsim
