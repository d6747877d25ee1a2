#include "workloads/model.hpp"

#include <fmt/format.h>

namespace stepsim {
namespace {

// Far above any model, and small enough that every product of shapes stays exact in a double or an int64.
constexpr int kMostLayers = 10'000;
constexpr int kMostHeads = 1'000'000;
constexpr int kMostWidth = 100'000'000;

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

void check_experts(Fields& f, const Experts& e, int layers) {
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
  f.integer("groups", e.groups, or_default("one routing group"), 1, kMostHeads);
  if (f.problems() == before) check_experts(f, e, model.layers);
  f.finish();
}

void read_ffn(Fields& f, ModelSpec& model) {
  bool dense_layer = model.experts.count == 0;
  for (int layer = 0; layer < model.layers; ++layer) dense_layer = dense_layer || !model.has_experts(layer);
  f.integer("ffn", model.ffn, dense_layer ? required() : or_default("no layer is dense"), dense_layer ? 1 : 0,
            kMostWidth);
  f.integer("ffn_matrices", model.ffn_matrices, or_default("gated, as in most models"), 2, 3);
}

}  // namespace

ModelSpec read_model(Reading& reading, const std::string& path, const std::vector<Override>& overrides) {
  ModelSpec model;
  std::optional<Fields> f = open_document(reading, path, overrides);
  if (!f) return model;
  if (f->has("model_type") || f->has("num_hidden_layers") || f->has("text_config")) {
    reading.problems.push_back({path, 0, "", "is a Hugging Face config; these are not read yet: write a model YAML"});
    return model;
  }
  f->text("name", model.name, required());
  f->integer("layers", model.layers, required(), 1, kMostLayers);
  f->integer("hidden", model.hidden, required(), 1, kMostWidth);
  f->integer("vocabulary", model.vocabulary, required(), 1, kMostWidth);
  f->boolean("tied_embeddings", model.tied_embeddings, or_default("a head of its own"));
  read_attention(*f, model);
  read_heads(*f, model);
  read_experts(*f, model);
  read_ffn(*f, model);
  f->finish();
  return model;
}

}  // namespace stepsim
