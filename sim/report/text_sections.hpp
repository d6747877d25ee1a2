// Sections of the terminal report, each a title and a table, or "" when there is nothing to say.
#pragma once

#include <string>

#include "sim/report/report.hpp"

namespace stepsim {

std::string ranks_section(const Report& report);      // how each kind of rank spends the step
std::string passes_section(const Report& report);     // by what runs: passes alone, pairs, optimizer, bubble
std::string resources_section(const Report& report);  // roofline, elasticity and path, a row a resource
std::string collectives_section(const Report& report);
std::string waits_section(const Report& report);  // who waits for whom
std::string path_section(const Report& report);   // by kind, dimension, phase
std::string overlap_section(const Report& report);  // what it costs, a row a kind of communication
std::string chains_section(const Report& report);   // the longest stretches of the path, with their events
std::string links_section(const Report& report);  // the busiest
std::string memory_section(const Report& report);
std::string activations_section(const Report& report);  // of memory_section's activations
std::string fitting_section(const std::vector<FittingChange>& changes);

}  // namespace stepsim
