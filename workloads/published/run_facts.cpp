#include "workloads/published/run_facts.hpp"

#include <array>

#include "workloads/published/wording.hpp"

namespace stepsim {
namespace {

struct Phrase {
  std::string_view words;
  bool RunFacts::*fact;
};
constexpr std::array<Phrase, 18> kPhrases{{{"tp comm overlap on", &RunFacts::tensor_overlap},
                                           {"tp comm overlap (userbuffers) on", &RunFacts::tensor_overlap},
                                           {"tp overlap on", &RunFacts::tensor_overlap},
                                           {"ub_tp_comm_overlap on", &RunFacts::tensor_overlap},
                                           {"tp overlap off", &RunFacts::tensor_overlap_stated},
                                           {"tp-comm-overlap off", &RunFacts::tensor_overlap_stated},
                                           {"ddp=torch (overlapped)", &RunFacts::reduce_overlap},
                                           {"ddp=local (not overlapped)", &RunFacts::no_reduce_overlap},
                                           {"no overlap assumed except grad-reduce", &RunFacts::only_reduce_overlap},
                                           {"partition type:transformer|embedding", &RunFacts::embedding_counts},
                                           {"w/ mtp", &RunFacts::multi_token_prediction},
                                           {"cp = a2a type", &RunFacts::context_all_to_all},
                                           {"alltoall dispatcher", &RunFacts::packed_rows},
                                           {"dispatcher=none", &RunFacts::packed_rows},
                                           {"fp8_params on", &RunFacts::fp8_parameters},
                                           {"a2a_overlap=true", &RunFacts::expert_overlap},
                                           {"cross-entropy fusion", &RunFacts::fused_loss},
                                           {"embedding balanced as pipeline layers", &RunFacts::embedding_counts}}};

// Things that a step of this run did and stepsim does not simulate.
constexpr std::array<std::string_view, 4> kUnmodelled{"cpu_offload_layers=40", "tokendrop", "cuda_graph=local/full_iteration",
                                                      "cuda_graph=transformer_engine"};

}  // namespace

RunFacts facts_of(const std::string& notes, Translation& out) {
  RunFacts facts;
  Wording words(notes);
  for (const Phrase& phrase : kPhrases) {
    if (words.take(phrase.words)) facts.*phrase.fact = true;
  }
  facts.reduce_overlap = facts.reduce_overlap || facts.only_reduce_overlap;
  facts.tensor_overlap_stated = facts.tensor_overlap_stated || facts.tensor_overlap;
  for (const std::string_view what : kUnmodelled) {
    if (words.take(what)) out.not_understood.push_back("notes: " + std::string(what) + " is not simulated");
  }
  return facts;
}

}  // namespace stepsim
