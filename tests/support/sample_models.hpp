// Models of the literature, for tests.
#pragma once

#include "workloads/model.hpp"

namespace stepsim::samples {

// DeepSeek-V3 (DeepSeek-AI, arXiv 2412.19437, section 4.2).
inline ModelSpec deepseek_v3() {
  ModelSpec model;
  model.name = "deepseek-v3";
  model.layers = 61;
  model.hidden = 7168;
  model.vocabulary = 129280;
  model.heads = model.kv_heads = 128;
  model.head_dim = 192;
  model.attention.kind = Attention::Kind::mla;
  model.attention.q_rank = 1536;
  model.attention.kv_rank = 512;
  model.attention.rope_dim = 64;
  model.attention.nope_dim = 128;
  model.attention.v_dim = 128;
  model.ffn = 18432;
  model.ffn_matrices = 3;
  model.experts = {.count = 256,
                   .top_k = 8,
                   .ffn = 2048,
                   .shared = 1,
                   .shared_ffn = 2048,
                   .dense_layers = 3,
                   .every = 1,
                   .groups = 8};
  return model;
}

// Llama 3.1 405B (Grattafiori et al., arXiv 2407.21783, table 3).
inline ModelSpec llama_405b() {
  ModelSpec model;
  model.name = "llama-3.1-405b";
  model.layers = 126;
  model.hidden = 16384;
  model.vocabulary = 128256;
  model.heads = 128;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.ffn = 53248;
  return model;
}

// GPT-3 (Brown et al., arXiv 2005.14165, table 2.1).
inline ModelSpec gpt3() {
  ModelSpec model;
  model.name = "gpt-3-175b";
  model.layers = 96;
  model.hidden = 12288;
  model.vocabulary = 50257;
  model.tied_embeddings = true;
  model.heads = model.kv_heads = 96;
  model.head_dim = 128;
  model.ffn = 49152;
  model.ffn_matrices = 2;
  return model;
}

}  // namespace stepsim::samples
