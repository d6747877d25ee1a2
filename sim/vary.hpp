// Sweeps of keys across values: "plan.overlap.expert=blocking,async,paired".
#pragma once

#include <string>
#include <vector>

namespace stepsim {

// Overrides of every combination of the sweeps' values, the last sweep fastest; one empty combination without sweeps.
// Commas inside brackets, braces or quotes belong to a value: "plan.recompute=none,[norm, swiglu],full" has three.
// Throws InputError for a sweep without "=" or without a value, and for a key that another or one of `set` names.
std::vector<std::vector<std::string>> combinations(const std::vector<std::string>& sweeps, const std::vector<std::string>& set = {});

// "dualpipe/paired": how a combination is named, by its values.
std::string name_of_combination(const std::vector<std::string>& overrides);

}  // namespace stepsim
