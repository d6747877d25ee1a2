#include "workloads/model.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "workloads/families/families.hpp"
#include "workloads/model_limits.hpp"

namespace stepsim {
namespace {

void read_window(Fields& f, const ModelSpec& model, Attention& a) {
  f.integer("window", a.window, or_default("every query sees all keys before it"), 1, kMostWidth);
  std::vector<std::string> pattern;
  f.texts("window_layers", pattern, or_default("all layers, when there is a window"));
  if (!pattern.empty() && a.window == 0) f.problem("window_layers", "there is no window; write window, or leave it out");
  if (model.layers > 0 && pattern.size() > static_cast<std::size_t>(model.layers)) {
    f.problem("window_layers", fmt::format("says {} layers, the model has {}", pattern.size(), model.layers));
  }
  for (const std::string& layer : pattern) {
    if (layer != "window" && layer != "full") {
      return f.problem("window_layers", fmt::format("\"{}\" is neither window nor full", layer));
    }
    a.windowed.push_back(layer == "window");
  }
}

void read_biases_and_norms(Fields& f, Attention& a) {
  f.boolean("qkv_bias", a.qkv_bias, or_default("no bias"));
  f.boolean("output_bias", a.output_bias, or_default("no bias"));
  std::string norm = "none";
  f.choice("qk_norm", norm, {"none", "head", "whole"}, or_default("queries and keys are not normed"));
  if (norm == "head") a.qk_norm = Attention::QkNorm::head;
  if (norm == "whole") a.qk_norm = Attention::QkNorm::whole;
  if (norm != "none" && a.kind == Attention::Kind::mla) {
    f.problem("qk_norm", "latent attention norms its latents, always; leave it out");
  }
  f.boolean("sinks", a.sinks, or_default("none"));
}

void read_attention(Fields& top, ModelSpec& model) {
  Fields f = top.mapping("attention", or_default("grouped-query attention"));
  std::string kind = "gqa";
  f.choice("kind", kind, {"gqa", "mla"},
           or_default("grouped-query attention; as many kv_heads as heads make it plain"));
  Attention& a = model.attention;
  if (kind == "mla") {
    a.kind = Attention::Kind::mla;
    f.integer("q_rank", a.q_rank, or_default("the query is not compressed"), 0, kMostWidth);
    f.integer("kv_rank", a.kv_rank, required(), 1, kMostWidth);
    f.integer("rope_dim", a.rope_dim, required(), 1, kMostWidth);
    f.integer("nope_dim", a.nope_dim, required(), 1, kMostWidth);
    f.integer("v_dim", a.v_dim, required(), 1, kMostWidth);
  } else {
    for (const char* key : {"q_rank", "kv_rank", "rope_dim", "nope_dim", "v_dim"}) {
      if (!f.has(key)) continue;
      f.node(key, or_default(""));
      f.problem(key, "belongs to latent attention; write kind: mla, or leave it out");
    }
  }
  read_biases_and_norms(f, a);
  read_window(f, model, a);
  f.finish();
}

void read_heads(Fields& f, ModelSpec& model) {
  const bool mla = model.attention.kind == Attention::Kind::mla;
  const std::size_t before = f.problems();
  f.integer("heads", model.heads, required(), 1, kMostHeads);
  model.kv_heads = model.heads;
  f.integer("kv_heads", model.kv_heads, or_default("as many as heads"), 1, kMostHeads);
  const Attention& a = model.attention;
  model.head_dim = mla ? a.rope_dim + a.nope_dim : model.heads > 0 ? model.hidden / model.heads : 0;
  f.integer("head_dim", model.head_dim, or_default(mla ? "rope_dim + nope_dim" : "hidden / heads"), 1, kMostWidth);
  if (f.problems() > before || model.hidden == 0) return;

  if (!f.has("head_dim") && !mla && model.hidden % model.heads != 0) {
    f.problem("head_dim", fmt::format("missing, and hidden {} is not a multiple of heads {}; write head_dim",
                                      model.hidden, model.heads));
  }
  if (model.heads % model.kv_heads != 0) {
    f.problem("kv_heads", fmt::format("{} does not divide {} heads", model.kv_heads, model.heads));
  }
  if (mla && model.kv_heads != model.heads) {
    f.problem("kv_heads", fmt::format("latent attention has a key and a value for each of the {} heads; write {}",
                                      model.heads, model.heads));
  }
  if (mla && a.rope_dim > 0 && a.nope_dim > 0 && model.head_dim != a.rope_dim + a.nope_dim) {
    f.problem("head_dim", fmt::format("{} is not rope_dim {} + nope_dim {}; write {}", model.head_dim, a.rope_dim,
                                      a.nope_dim, a.rope_dim + a.nope_dim));
  }
}

void check_also_dense(Fields& f, const ModelSpec& model) {
  bool any = false;
  for (int layer = 0; layer < model.layers; ++layer) any = any || model.has_experts(layer);
  ModelSpec without = model;
  without.experts.also_dense.clear();
  for (const int layer : model.experts.also_dense) {
    if (layer >= model.layers || !without.has_experts(layer)) {
      f.problem("also_dense", fmt::format("layer {} has no experts anyway (layers count from 0); leave it out", layer));
    }
  }
  if (!any && model.layers > model.experts.dense_layers) f.problem("also_dense", "leaves no layer with experts");
}

void check_experts(Fields& f, const ModelSpec& model) {
  const Experts& e = model.experts;
  const int layers = model.layers;
  if (e.top_k > e.count) f.problem("top_k", fmt::format("{} is more than the {} experts", e.top_k, e.count));
  if (e.count % e.groups != 0) {
    f.problem("groups", fmt::format("{} does not divide {} experts", e.groups, e.count));
  }
  if (e.shared == 0 && f.has("shared_ffn")) {
    f.problem("shared_ffn", "there are no shared experts; write shared, or leave it out");
  }
  if (layers > 0 && e.dense_layers >= layers) {
    f.problem("dense_layers",
              fmt::format("{} leaves none of {} layers with experts; for a dense model leave out experts",
                          e.dense_layers, layers));
  }
  if (e.shared == 0 && e.shared_gate) f.problem("shared_gate", "there are no shared experts; write shared, or leave it out");
  if (layers > 0) check_also_dense(f, model);
}

void read_experts(Fields& top, ModelSpec& model) {
  if (!top.has("experts")) {
    top.node("experts", or_default(""));  // marks the key as known
    top.explain("experts", "none", or_default("a dense model"));
    return;
  }
  Fields f = top.mapping("experts", required());
  const std::size_t before = f.problems();
  Experts& e = model.experts;
  f.integer("count", e.count, required(), 1, kMostHeads);
  f.integer("top_k", e.top_k, required(), 1, kMostHeads);
  f.integer("ffn", e.ffn, required(), 1, kMostWidth);
  f.integer("shared", e.shared, or_default("no shared expert"), 0, kMostHeads);
  e.shared_ffn = e.shared > 0 ? e.ffn : 0;
  f.integer("shared_ffn", e.shared_ffn, or_default("as wide as a routed expert"), 1, kMostWidth);
  f.integer("dense_layers", e.dense_layers, or_default("every layer may have experts"), 0, kMostLayers);
  f.integer("every", e.every, or_default("no dense layers between"), 1, kMostLayers);
  f.integers("also_dense", e.also_dense, or_default("no further dense layers"));
  f.integer("groups", e.groups, or_default("one routing group"), 1, kMostHeads);
  bool routing_bias = e.has_routing_bias();
  f.boolean("routing_bias", routing_bias, or_default("with several routing groups, as DeepSeek-V3 (assumption)"));
  if (f.has("routing_bias")) e.routing_bias = routing_bias;
  f.boolean("bias", e.bias, or_default("no bias"));
  f.boolean("shared_gate", e.shared_gate, or_default("the shared experts' output is not scaled"));
  if (f.problems() == before) check_experts(f, model);
  f.finish();
}

void read_ffn(Fields& f, ModelSpec& model) {
  bool dense_layer = model.experts.count == 0;
  for (int layer = 0; layer < model.layers; ++layer) dense_layer = dense_layer || !model.has_experts(layer);
  f.integer("ffn", model.ffn, dense_layer ? required() : or_default("no layer is dense"), dense_layer ? 1 : 0,
            kMostWidth);
  f.integer("ffn_matrices", model.ffn_matrices, or_default("gated, as in most models"), 2, 3);
  f.boolean("ffn_bias", model.ffn_bias, or_default("no bias"));
  if (model.ffn_bias && !dense_layer) f.problem("ffn_bias", "no layer is dense; experts.bias is that of experts");
}

void read_norms(Fields& f, ModelSpec& model) {
  std::string norm = "rms";
  f.choice("norm", norm, {"rms", "layer"}, or_default("as in most models"));
  if (norm == "layer") model.norm = ModelSpec::Norm::layer;
  f.integer("norms", model.norms, or_default("one before attention, one before the FFN"), 1, 4);
  if (model.norms == 3) {
    f.problem("norms", "3 a layer are not known; 1: attention and FFN share it, 2: one before each, 4: one after each too");
  }
}

void read_positions(Fields& f, ModelSpec& model) {
  f.integer("learned_positions", model.learned_positions, or_default("no table of positions"), 1, kMostWidth);
  model.rotary = model.learned_positions > 0 ? 0 : 1;
  f.number("rotary", model.rotary, or_default("whole heads, unless positions are learned"), 0, 1);
}

ModelSpec read_yaml(Fields& f) {
  ModelSpec model;
  f.text("name", model.name, required());
  f.integer("layers", model.layers, required(), 1, kMostLayers);
  f.integer("hidden", model.hidden, required(), 1, kMostWidth);
  f.integer("vocabulary", model.vocabulary, required(), 1, kMostWidth);
  f.boolean("tied_embeddings", model.tied_embeddings, or_default("a head of its own"));
  f.boolean("head_bias", model.head_bias, or_default("no bias"));
  read_attention(f, model);
  read_heads(f, model);
  read_experts(f, model);
  read_ffn(f, model);
  read_norms(f, model);
  read_positions(f, model);
  f.integer("prediction_layers", model.prediction_layers, or_default("no multi-token prediction"), 0, kMostLayers);
  f.finish();
  return model;
}

}  // namespace

std::string model_file(const std::string& named) {
  std::error_code ignored;
  const std::filesystem::path inside = std::filesystem::path(named) / "config.json";
  return std::filesystem::exists(inside, ignored) ? inside.string() : named;
}

ModelSpec read_model(Reading& reading, const std::string& named, const std::vector<Override>& overrides) {
  const std::string path = model_file(named);
  std::optional<Fields> f = open_document(reading, path, overrides);
  if (!f) return {};
  return is_config(*f) ? read_config(reading, path, *f) : read_yaml(*f);
}

}  // namespace stepsim
