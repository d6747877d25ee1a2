// Which ranks a trace shows: "0-15,stage:3".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

struct RankChoice {
  std::string text;                         // as given
  std::vector<std::pair<int, int>> ranks;   // first and last
  std::vector<std::pair<int, int>> stages;  // of pipeline ranks
  bool all = false;
};

// A list of "7", "0-15", "stage:3", "stage:0-3", "all". Throws InputError, which names --trace-ranks, with every part
// that is none of these.
RankChoice parse_rank_choice(const std::string& text);

// Throws InputError when a step of so many ranks and stages has not all of them.
void require_ranks(const RankChoice& choice, int ranks, int stages);

// Ranks of the graph, in order; the choice has been required. `rank_kind` is [real rank] -> rank of the graph
// (Folding::rank_color), or empty when the graph is not folded.
std::vector<std::size_t> chosen_ranks(const RankChoice& choice, const StepGraph& graph,
                                      const std::vector<std::int32_t>& rank_kind);

}  // namespace stepsim
