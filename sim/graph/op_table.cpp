#include "sim/graph/op_table.hpp"

#include <algorithm>
#include <bit>

namespace stepsim {
namespace {

constexpr std::size_t kFirstPlaces = 64;  // a power of two

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}

// Of what tells most specs apart.
std::uint64_t hash_of(const OpSpec& s) {
  const auto field = [](auto value, int shift) { return static_cast<std::uint64_t>(static_cast<std::uint16_t>(value)) << shift; };
  std::uint64_t hash = mixed(1, std::bit_cast<std::uint64_t>(s.seconds));
  hash = mixed(hash, std::bit_cast<std::uint64_t>(s.payload_bytes));
  hash = mixed(hash, field(s.slot, 0) | field(s.pattern, 16) | field(s.stream, 32) | field(s.kind, 48));
  hash = mixed(hash, field(s.tags.stage, 0) | field(s.tags.chunk, 16) | field(s.tags.layer, 32) | field(s.tags.phase, 48));
  return mixed(hash, static_cast<std::uint64_t>(s.tags.label));
}

}  // namespace

OpTable::OpTable(const std::vector<Op>& ops) {
  reserve(ops.size());
  for (const Op& op : ops) push_back(op);
}

void OpTable::push_back(const Op& op) {
  const std::int32_t spec = number_of(op);
  ++uses_[static_cast<std::size_t>(spec)];
  after_.insert(after_.end(), op.after.begin(), op.after.end());
  entries_.push_back({spec, op.tags.microbatch, static_cast<std::int32_t>(after_.size())});
}

void OpTable::reserve(std::size_t ops) {
  entries_.reserve(ops);
  after_.reserve(2 * ops);
}

void OpTable::change(std::size_t i, const std::function<void(Op&)>& how) {
  std::vector<Op> ops;
  for (std::size_t j = 0; j < size(); ++j) ops.push_back(copy(j));
  how(ops[i]);
  *this = OpTable(ops);
}

Op OpTable::copy(std::size_t i) const {
  Op op;
  static_cast<OpSpec&>(op) = spec(i);
  op.tags.microbatch = entries_[i].microbatch;
  op.after.assign(after(i).begin(), after(i).end());
  return op;
}

// Specs are numbered in the order in which they come: equal ops make equal tables.
bool OpTable::operator==(const OpTable& other) const {
  return entries_ == other.entries_ && after_ == other.after_ && specs_ == other.specs_;
}

std::int32_t OpTable::number_of(OpSpec spec) {
  spec.tags.microbatch = -1;
  if (2 * specs_.size() >= places_.size()) grow();
  const std::size_t mask = places_.size() - 1;
  std::size_t at = hash_of(spec) & mask;
  for (; places_[at] >= 0; at = (at + 1) & mask) {
    if (specs_[static_cast<std::size_t>(places_[at])] == spec) return places_[at];
  }
  places_[at] = static_cast<std::int32_t>(specs_.size());
  specs_.push_back(spec);
  uses_.push_back(0);
  return places_[at];
}

void OpTable::grow() {
  places_.assign(std::max(kFirstPlaces, 2 * places_.size()), -1);
  const std::size_t mask = places_.size() - 1;
  for (std::size_t s = 0; s < specs_.size(); ++s) {
    std::size_t at = hash_of(specs_[s]) & mask;
    while (places_[at] >= 0) at = (at + 1) & mask;
    places_[at] = static_cast<std::int32_t>(s);
  }
}

}  // namespace stepsim
