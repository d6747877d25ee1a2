// <cluster topology="TORUS"> and "FAT_TREE": a network from a few numbers.
#include <fmt/format.h>

#include <charconv>

#include "sim/cluster/platform_reader.hpp"

namespace stepsim {
namespace {

constexpr std::int64_t kMostHosts = std::int64_t{1} << 22;  // hosts, and cables

// "4,4,4": whole numbers of at least 1; empty when it is anything else.
std::vector<int> numbers_of(std::string_view text) {
  std::vector<int> numbers;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 1 || value > kMostHosts) return {};
    numbers.push_back(value);
    if (part.size() == text.size()) return numbers;
    text.remove_prefix(part.size() + 1);
  }
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    parts.push_back(text.substr(0, text.find(at)));
    if (parts.back().size() == text.size()) return parts;
    text.remove_prefix(parts.back().size() + 1);
  }
}

std::int64_t bounded_product(const std::vector<int>& factors) {
  std::int64_t product = 1;
  for (const int factor : factors) product = std::min(product * factor, kMostHosts + 1);
  return product;
}

// All levels' cables together, or more than kMostHosts where there are many.
std::int64_t cables_of(const FatTreeShape& shape) {
  std::int64_t sum = 0;
  for (std::size_t level = 0; level < shape.children.size(); ++level) {
    std::vector<int> factors(shape.children.begin() + static_cast<std::ptrdiff_t>(level), shape.children.end());
    factors.insert(factors.end(), shape.parents.begin(),
                   shape.parents.begin() + static_cast<std::ptrdiff_t>(level) + 1);
    factors.push_back(shape.cables[level]);
    sum = std::min(sum + bounded_product(factors), kMostHosts + 1);
  }
  return sum;
}

// "2;4,4;1,2;1,2": levels; children, parents and cables of each.
std::optional<FatTreeShape> fat_tree_of(std::string_view text) {
  const auto parts = split(text, ';');
  if (parts.size() != 4) return std::nullopt;
  const std::vector<int> levels = numbers_of(parts[0]);
  FatTreeShape shape{.children = numbers_of(parts[1]), .parents = numbers_of(parts[2]), .cables = numbers_of(parts[3])};
  if (levels.size() != 1) return std::nullopt;
  const auto wanted = static_cast<std::size_t>(levels[0]);
  if (shape.children.size() != wanted || shape.parents.size() != wanted || shape.cables.size() != wanted) {
    return std::nullopt;
  }
  return shape;
}

}  // namespace

void PlatformReader::read_regular(pugi::xml_node element, ZoneId zone, std::string_view topology,
                                  const MakeDuplex& make) {
  const std::string_view text = element.attribute("topo_parameters").value();
  const auto hosts = static_cast<std::int64_t>(zone_at(zone).members.size());
  const auto fits = [&](std::int64_t due) {
    if (due == hosts) return true;
    file_.problem(element, "topo_parameters", fmt::format("describes {} hosts; radical names {}", due, hosts));
    return false;
  };
  if (topology == "TORUS") {
    const std::vector<int> dimensions = numbers_of(text);
    if (dimensions.empty()) {
      return file_.problem(element, "topo_parameters",
                           fmt::format("'{}' is not the torus's dimensions; write for example 4,4,2", text));
    }
    if (fits(bounded_product(dimensions))) zone_at(zone).regular = make_torus(dimensions, make);
    return;
  }
  const auto shape = fat_tree_of(text);
  if (!shape) {
    return file_.problem(element, "topo_parameters",
                         fmt::format("'{}' is not a fat tree; write the number of levels, and of each level the "
                                     "children of a switch, the parents of a node below and their cables, as in "
                                     "2;4,4;1,2;1,2",
                                     text));
  }
  if (cables_of(*shape) > kMostHosts) {
    return file_.problem(element, "topo_parameters", "describes more cables than can be simulated");
  }
  if (fits(bounded_product(shape->children))) zone_at(zone).regular = make_fat_tree(*shape, make);
}

}  // namespace stepsim
