// Families of models that have a Hugging Face config.json, by its model_type. A family is one file and its lines in the
// table of families.cpp.
#pragma once

#include <span>
#include <string_view>

#include "workloads/families/config.hpp"

namespace stepsim {

struct Family {
  std::string_view model_type;  // as in config.json
  void (*read)(Config&, ModelSpec&);
  bool experts = false;  // a mixture of experts
};
std::span<const Family> families();

// Whether a mapping is a config.json rather than a model of stepsim's own.
bool is_config(const Fields& fields);

// Reads it; its name is the folder's (".../Qwen3-8B/config.json"), or the file's. An unknown model_type is refused with
// what would be missed. Multimodal models are read for their text_config; that, aliases, keys that are not known and what
// is left out is noted.
ModelSpec read_config(Reading& reading, const std::string& path, const Fields& fields);

// --- the families ---
void read_llama(Config& c, ModelSpec& model);
void read_mistral(Config& c, ModelSpec& model);
void read_mixtral(Config& c, ModelSpec& model);
void read_qwen2(Config& c, ModelSpec& model);
void read_qwen2_moe(Config& c, ModelSpec& model);
void read_qwen3(Config& c, ModelSpec& model);
void read_qwen3_moe(Config& c, ModelSpec& model);
void read_deepseek_v2(Config& c, ModelSpec& model);
void read_deepseek_v3(Config& c, ModelSpec& model);
void read_glm4_moe(Config& c, ModelSpec& model);
void read_gpt_oss(Config& c, ModelSpec& model);
void read_gemma(Config& c, ModelSpec& model);
void read_gemma2(Config& c, ModelSpec& model);
void read_gemma3(Config& c, ModelSpec& model);
void read_phi(Config& c, ModelSpec& model);
void read_phi3(Config& c, ModelSpec& model);
void read_gpt2(Config& c, ModelSpec& model);
void read_gpt_neox(Config& c, ModelSpec& model);

}  // namespace stepsim
