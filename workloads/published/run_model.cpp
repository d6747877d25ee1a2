// The model's columns.
#include <fmt/format.h>

#include <cmath>

#include "workloads/published/translation.hpp"
#include "workloads/published/wording.hpp"

namespace stepsim {
namespace {

// Counted parameters further than this from the stated ones: the row is not the model that its source ran.
constexpr double kParameterTolerance = 0.05;

void latent_attention(const PublishedRun& run, Wording& words, Translation& out) {
  Attention& a = out.model.attention;
  a.kind = Attention::Kind::mla;
  a.q_rank = static_cast<int>(words.take_number_after("q").value_or(0));
  a.kv_rank = static_cast<int>(words.take_number_after("kv").value_or(0));
  a.rope_dim = static_cast<int>(words.take_number_after("rope").value_or(0));
  a.nope_dim = static_cast<int>(words.take_number_after("nope").value_or(run.head_dim));
  a.v_dim = static_cast<int>(words.take_number_after("v").value_or(0));
  if (a.kv_rank == 0 || a.rope_dim == 0 || a.v_dim == 0) {
    out.problems.push_back(fmt::format("attn: \"{}\" lacks one of kv, rope and v; as in MLA q1536 kv512 rope64 v128",
                                       run.attention));
  }
  out.model.head_dim = a.nope_dim + a.rope_dim;
}

// Layer norms and learned positions, as GPT-2 and its followers have them; others norms by RMS and rotary embeddings.
void style(const PublishedRun& run, bool positions, Translation& out) {
  const bool gpt = run.ffn_matrices == 2 && run.kv_heads == run.heads;
  if (!positions && gpt) out.assume("gpt-style");
  if (run.ffn_matrices == 2) out.model.norm = ModelSpec::Norm::layer;
  if (!positions && !gpt) return;
  out.model.rotary = 0;
  out.model.learned_positions = run.sequence_length;
}

// Whether the text says that positions are learned.
bool attention(const PublishedRun& run, Translation& out) {
  Wording words(run.attention);
  out.model.head_dim = run.head_dim;
  out.model.kv_heads = run.kv_heads;
  if (words.take("mla")) {
    latent_attention(run, words, out);
    out.model.kv_heads = run.heads;
  } else if (!words.take("mha") && !words.take("gqa") && !words.take("mqa")) {
    out.problems.push_back(fmt::format("attn: \"{}\" is none of MHA, GQA, MQA, MLA", run.attention));
  }
  const bool positions = words.take("(learned pos)");
  if (!words.rest().empty()) out.not_understood.push_back("attn: " + words.rest());
  return positions;
}

void experts(const PublishedRun& run, Translation& out) {
  if (run.experts == 0) return;
  Experts& e = out.model.experts;
  e.count = run.experts;
  e.top_k = run.top_k;
  e.ffn = run.expert_ffn;
  e.shared = run.shared_expert_ffn > 0 ? 1 : 0;
  e.shared_ffn = run.shared_expert_ffn;
  e.dense_layers = run.dense_layers;
  if (e.top_k < 1 || e.top_k > e.count) out.problems.push_back(fmt::format("topk: {} of {} experts", e.top_k, e.count));
  if (e.ffn < 1) out.problems.push_back("moe_ffn: not stated for a model with experts");
  if (e.dense_layers >= run.layers) {
    out.problems.push_back(fmt::format("dense_layers: {} of {} layers leave none with experts", e.dense_layers, run.layers));
  }
}

void hold_against_stated(const PublishedRun& run, Translation& out) {
  if (run.params_billion <= 0 || !out.problems.empty()) return;
  const double counted = count_parameters(out.model).total() / 1e9;
  if (std::abs(counted / run.params_billion - 1) <= kParameterTolerance) return;
  out.problems.push_back(fmt::format("params_B: {:.4g} stated, {:.4g} counted from the shape", run.params_billion, counted));
}

}  // namespace

void translate_model(const PublishedRun& run, Translation& out) {
  ModelSpec& m = out.model;
  m.name = run.model.empty() ? "model of " + run.id : run.model;
  m.layers = run.layers;
  m.hidden = run.hidden;
  m.vocabulary = run.vocabulary;
  m.tied_embeddings = run.tied_embeddings;
  m.heads = run.heads;
  m.ffn = run.ffn;
  m.ffn_matrices = run.ffn_matrices;
  if (m.ffn_matrices != 2 && m.ffn_matrices != 3) {
    out.problems.push_back(fmt::format("ffn_matrices: {} is neither 2 (plain) nor 3 (gated)", m.ffn_matrices));
  }
  style(run, attention(run, out), out);
  experts(run, out);
  hold_against_stated(run, out);
}

}  // namespace stepsim
