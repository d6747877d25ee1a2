// Symmetry folding: ranks that cannot be told apart behave alike, so simulate one of each kind.
//
// Ranks, groups and links are coloured by what they are (a rank's program and speed, a group's patterns, a link's
// capacity), and the colours are refined by their neighbours' colours until nothing changes: an equitable partition
// (colour refinement, 1-dimensional Weisfeiler-Leman). The quotient graph has one rank, group and link of each colour;
// a representative link carries as many legs of a representative group's transfer as a real link carries from all
// groups of that colour together. Rates by weighted max-min fairness, and so all times, are exactly those of the full
// graph: all groups of a colour move at the same rate at all times, so that the constraint of a real link,
// sum over groups of legs x rate, is the constraint of its representative.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepsim {

struct Folding {
  StepGraph graph;                      // the quotient
  std::vector<std::int32_t> rank_color;  // [rank of the graph that was folded] -> rank of `graph`
  std::vector<std::int32_t> group_color;
  std::vector<std::int32_t> link_color;  // -1: no transfer crosses the link; it is left out
  int rounds = 0;                       // of refinement
};

// The graph must be sound (problems_of is empty). It may stand for a larger one already, with counts: what comes out is
// what the larger one would fold to. Changes at a time are part of what a rank or link is, so that they split colours. A
// graph with jitter must not be folded: see folds().
Folding fold(const StepGraph& graph);
Folding fold(StepGraph&& graph);  // takes the programs and gives the rest's memory back

// Whether folding is exact: not with jitter, which makes every event its own.
bool folds(const StepGraph& graph);

// The quotient where it is wanted and exact, else the graph as it is.
StepGraph folded(StepGraph graph, bool wanted);

// Why ranks that run one program are not of one kind.
struct RankKind {
  std::string program;
  RankId first = 0;      // lowest rank of the kind
  int count = 0;         // ranks of it
  RankId unlike = -1;    // first rank of the program's largest kind; -1: this is it
  std::vector<std::string> why;  // from what the rank itself has to the root of the difference, a step an entry
};
struct FoldingReasons {
  int rounds = 0;  // of refinement
  std::size_t ranks = 0, rank_kinds = 0, groups = 0, group_kinds = 0, links = 0, link_kinds = 0;  // links: those in use
  std::vector<RankKind> kinds;  // by program, then by first rank
};
// The graph as fold() wants it, with all counts 1.
FoldingReasons explain_folding(const StepGraph& graph);

}  // namespace stepsim
