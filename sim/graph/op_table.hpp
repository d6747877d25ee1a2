// The ops of a program, compactly. A step repeats a few specs for every microbatch: each is kept once, and an op is the
// number of its spec, its microbatch, and its place in a list of all that ops wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <vector>

#include "sim/graph/op.hpp"

namespace stepsim {

// An op as a table holds it; valid while the table stays as it is.
struct OpView {
  OpKind kind;
  std::uint8_t stream;
  std::int16_t slot, pattern, sms;
  double seconds, sm_seconds, payload_bytes;
  Tags tags;
  const ComputeWork& work;
  std::span<const std::int32_t> after;
};

class OpTable {
 public:
  OpTable() = default;
  OpTable(const std::vector<Op>& ops);  // not explicit: a list of ops is assigned to a program
  void push_back(const Op& op);
  void reserve(std::size_t ops);
  // Changes the i-th op; in the time of making the table anew.
  void change(std::size_t i, const std::function<void(Op&)>& how);

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  // In the place where it is asked, so that only what is looked at is read.
  [[gnu::always_inline]] OpView operator[](std::size_t i) const {
    const OpSpec& s = spec(i);
    OpView view{s.kind, s.stream, s.slot, s.pattern, s.sms, s.seconds, s.sm_seconds, s.payload_bytes, s.tags, s.work, after(i)};
    view.tags.microbatch = entries_[i].microbatch;
    return view;
  }
  std::size_t spec_number(std::size_t i) const { return static_cast<std::size_t>(entries_[i].spec); }
  const OpSpec& spec(std::size_t i) const { return specs_[spec_number(i)]; }  // no microbatch
  std::span<const std::int32_t> after(std::size_t i) const {
    const std::int32_t begin = i == 0 ? 0 : entries_[i - 1].after_end;
    return {after_.data() + begin, after_.data() + entries_[i].after_end};
  }
  Op copy(std::size_t i) const;

  // Without a microbatch. How many ops have each.
  const std::vector<OpSpec>& specs() const { return specs_; }
  const std::vector<std::int32_t>& uses() const { return uses_; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = OpView;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = OpView;
    Iterator(const OpTable& table, std::size_t i) : table_(&table), i_(i) {}
    OpView operator*() const { return (*table_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    const OpTable* table_;
    std::size_t i_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  bool operator==(const OpTable& other) const;

 private:
  struct Entry {
    std::int32_t spec = 0;
    std::int32_t microbatch = -1;
    std::int32_t after_end = 0;  // of what it waits for, in after_; it begins where that of the op before ends

    bool operator==(const Entry&) const = default;
  };
  std::int32_t number_of(OpSpec spec);
  void grow();

  std::vector<OpSpec> specs_;
  std::vector<std::int32_t> uses_;  // [spec]
  std::vector<Entry> entries_;
  std::vector<std::int32_t> after_;
  std::vector<std::int32_t> places_;  // open addressing: specs by their hash; -1: free
};

}  // namespace stepsim
