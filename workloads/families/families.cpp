#include "workloads/families/families.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "workloads/model_limits.hpp"

namespace stepsim {
namespace {

constexpr Family kFamilies[] = {
    {"llama", read_llama},
    {"mistral", read_mistral},
    {"mixtral", read_mixtral, true},
    {"qwen2", read_qwen2},
    {"qwen2_vl", read_qwen2},
    {"qwen2_vl_text", read_qwen2},
    {"qwen2_5_vl", read_qwen2},
    {"qwen2_5_vl_text", read_qwen2},
    {"qwen2_moe", read_qwen2_moe, true},
    {"qwen3", read_qwen3},
    {"qwen3_vl_text", read_qwen3},
    {"qwen3_moe", read_qwen3_moe, true},
    {"qwen3_vl_moe_text", read_qwen3_moe, true},
    {"deepseek_v2", read_deepseek_v2, true},
    {"deepseek_v3", read_deepseek_v3, true},
    {"kimi_k2", read_deepseek_v3, true},
    {"glm4_moe", read_glm4_moe, true},
    {"gpt_oss", read_gpt_oss, true},
    {"gemma", read_gemma},
    {"gemma2", read_gemma2},
    {"gemma3", read_gemma3},
    {"gemma3_text", read_gemma3},
    {"phi", read_phi},
    {"phi3", read_phi3},
    {"gpt2", read_gpt2},
    {"gpt_neox", read_gpt_neox},
};

constexpr std::string_view kExpertKeys[] = {"num_experts", "num_local_experts", "n_routed_experts", "num_routed_experts",
                                            "moe_num_experts", "moe_intermediate_size"};

// Keys of such files that change no shape: tokens, positions' angles, initial values, dropout, generation, how experts are
// chosen and balanced, formats of the checkpoint (the plan says in which formats it trains).
constexpr std::string_view kWithoutEffect[] = {
    "architectures", "auto_map", "_name_or_path", "name_or_path", "transformers_version", "model_type", "torch_dtype", "dtype",
    "quantization_config", "use_cache", "cache_implementation", "_attn_implementation", "attn_implementation",
    "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "image_token_id", "video_token_id", "vision_start_token_id",
    "vision_end_token_id", "vision_token_id", "eos_token", "bos_token", "max_position_embeddings",
    "original_max_position_embeddings", "initial_context_length", "max_length", "max_seq_len", "rope_theta", "rope_scaling",
    "rope_parameters", "rope_local_base_freq", "rope_interleave", "rotary_emb_base", "rotary_base", "initializer_range",
    "initializer_factor", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "hidden_act",
    "hidden_activation", "activation_function", "attention_dropout", "attention_probs_dropout_prob", "hidden_dropout",
    "hidden_dropout_prob", "embd_pdrop", "attn_pdrop", "resid_pdrop", "embd_dropout", "resid_dropout", "classifier_dropout",
    "pretraining_tp", "router_aux_loss_coef", "router_jitter_noise", "output_router_logits", "norm_topk_prob",
    "routed_scaling_factor", "scoring_func", "topk_method", "topk_group", "aux_loss_alpha", "seq_aux", "ep_size",
    "swiglu_limit", "attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar", 
    "gradient_checkpointing", "task_specific_params", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj", "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "use_bidirectional_attention", "is_decoder", "is_encoder_decoder", "id2label",
    "label2id", "problem_type", "output_attentions", "output_hidden_states", "return_dict", "chunk_size_feed_forward",
    "tie_encoder_decoder", "add_cross_attention", "cross_attention_hidden_size"};

template <typename Names>
bool among(std::string_view key, const Names& names) {
  return std::find(std::begin(names), std::end(names), key) != std::end(names);
}

const Family* find_family(std::string_view model_type) {
  const auto found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                  [&](const Family& family) { return family.model_type == model_type; });
  return found == std::end(kFamilies) ? nullptr : found;
}

std::vector<std::string> that_matter(const std::vector<std::string>& unread) {
  std::vector<std::string> keys;
  std::copy_if(unread.begin(), unread.end(), std::back_inserter(keys),
               [](const std::string& key) { return !among(key, kWithoutEffect); });
  return keys;
}

bool names_experts(const Config& c) {
  return std::any_of(std::begin(kExpertKeys), std::end(kExpertKeys), [&](std::string_view key) { return c.has(key); });
}

// What reading it as the family it is most like would miss.
std::string missed(const Fields& fields, const Config& c) {
  const std::string_view like = c.has("kv_lora_rank") ? "deepseek_v3" : names_experts(c) ? "qwen3_moe" : "llama";
  Reading trial;
  Config as_if(trial, fields.in(trial));
  ModelSpec ignored;
  find_family(like)->read(as_if, ignored);
  std::vector<std::string> lacking;
  for (const Problem& problem : trial.problems) {
    if (!c.has(problem.key)) lacking.push_back(problem.key);
  }
  const std::vector<std::string> strange = that_matter(as_if.unread());
  std::string text = fmt::format("read like {}, ", like);
  if (!lacking.empty()) text += fmt::format("it lacks {}", fmt::join(lacking, ", "));
  if (!strange.empty()) text += fmt::format("{}these keys would be missed: {}", lacking.empty() ? "" : ", and ", fmt::join(strange, ", "));
  return lacking.empty() && strange.empty() ? fmt::format("it has the keys of {}", like) : text;
}

void refuse_family(const Fields& fields, Config& c, const std::string& model_type) {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.model_type);
  const std::string near = nearest(model_type, names);
  c.problem("model_type", fmt::format("\"{}\" is not one of {}{}; {}; write a model YAML, or a model_type of the list where "
                                      "the layers are the same",
                                      model_type, fmt::join(names, ", "),
                                      near.empty() ? "" : fmt::format("; did you mean {}?", near), missed(fields, c)));
}

void read_family(const Fields& fields, Config& c, ModelSpec& model) {
  const std::size_t before = c.problems();
  if (!c.has("model_type")) return c.problem("model_type", "missing; it says which family the keys belong to");
  const std::string model_type = c.text_or("model_type", "", "");
  const Family* family = find_family(model_type);
  if (family == nullptr) return refuse_family(fields, c, model_type);
  family->read(c, model);
  if (model.layers > kMostLayers) c.problem("num_hidden_layers", fmt::format("{} is too large; at most {}", model.layers, kMostLayers));
  std::vector<std::string> unread = c.unread();
  for (std::string_view key : kExpertKeys) {
    if (!family->experts && among(key, unread)) {
      c.problem(key, fmt::format("model_type {} has no experts; write the model_type of a mixture of experts, or leave it out",
                                 model_type));
    }
  }
  const std::vector<std::string> strange = that_matter(unread);
  if (c.problems() == before && !strange.empty()) {
    c.note(fmt::format("keys that are not known, and taken to change nothing: {}", fmt::join(strange, ", ")));
  }
}

// The name of a checkpoint's folder, or what the file is called.
std::string name_of(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string folder = file.parent_path().filename().string();
  if (file.filename() != "config.json") return file.stem().string();
  return folder.empty() || folder == "." || folder == ".." ? "config" : folder;
}

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

bool is_config(const Fields& fields) {
  return fields.has("model_type") || fields.has("num_hidden_layers") || fields.has("text_config") ||
         fields.has("architectures") || fields.has("n_embd");
}

ModelSpec read_config(Reading& reading, const std::string& path, const Fields& fields) {
  ModelSpec model;
  model.name = name_of(path);
  Fields top = fields.without_nulls();
  if (!top.has("text_config")) {
    Config c(reading, top);
    read_family(top, c, model);
    return model;
  }
  Config outer(reading, top);
  Fields text = top.mapping("text_config", required()).without_nulls();
  Config inner(reading, text);
  reading.notes.push_back("only the language model (text_config) is simulated; what else the file describes is left out");
  read_family(text, inner, model);
  if (!text.has("tie_word_embeddings") && top.has("tie_word_embeddings")) read_tied(outer, model, model.tied_embeddings);
  for (const std::string& key : outer.unread()) static_cast<void>(key);  // those of --set are problems
  return model;
}

}  // namespace stepsim
