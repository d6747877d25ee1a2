#include "sim/explore/evaluator.hpp"

#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>

namespace stepsim {
namespace {

// What a request asks for, in words: the key of one that cannot be read.
std::string words_of(const Request& r) {
  std::string text = program_version();
  for (const std::string& part : {r.experiment, r.model, r.cluster, r.plan, r.scenario}) text += "\n" + part;
  for (const std::string& o : r.overrides) text += "\n" + o;
  return text;
}

Row not_done(Ending ending, const std::string& why) {
  Row row;
  row.ending = ending;
  row.error = why;
  return row;
}

}  // namespace

Claims::Claims(std::size_t points) : size_(std::bit_ceil(2 * points + 2)), taken_(size_) {}

bool Claims::claim(const std::string& key) {
  std::uint64_t mine = 0;
  std::from_chars(key.data(), key.data() + 16, mine, 16);
  mine = std::max<std::uint64_t>(mine, 1);  // 0: free
  for (std::size_t i = mine & (size_ - 1);; i = (i + 1) & (size_ - 1)) {
    std::uint64_t free = 0;
    if (taken_[i].compare_exchange_strong(free, mine)) return true;
    if (free == mine) return false;
  }
}

void Evaluator::warm(const Request& request) {
  PlanSource source;
  try {
    read_inputs(request, source, &cache_);
  } catch (const InputError&) {
    // The point's own row will say so.
  }
}

// In a child: SimGrid simulates once in a process, and a child's memory goes with it at once.
template <class RowOf>
Evaluated Evaluator::evaluate(const Request& request, KeyText* key, bool brief, const RowOf& row_of) {
  Evaluated result;
  try {
    const Inputs inputs = load(request, &cache_);
    result.key = keys_.key_of(inputs, options_, request.home, brief);
    if (key != nullptr) result.key.copy(key->data(), key->size() - 1);
    result.known = known_.contains(result.key) || (claims_ != nullptr && !claims_->claim(result.key));
    if (result.known) return result;
    return unpack(ask_child([&] {
      if (!options_.elasticities) simulate_here_next();
      try {
        row_of(inputs, result);
      } catch (const InputError& e) {
        result.row = not_done(Ending::refused, e.what());
      }
      return pack(result);
    }));
  } catch (const InputError& e) {
    // With its files as they are: corrected, it is another point. Reading it again costs little.
    if (result.key.empty()) result.key = key_of_text(words_of(request) + "\n" + e.what());
    result.row = not_done(Ending::refused, e.what());
  } catch (const std::exception& e) {
    if (result.key.empty()) result.key = key_of_text(words_of(request));
    result.row = not_done(Ending::failed, e.what());
  }
  return result;
}

Evaluated Evaluator::evaluate(const Request& request, KeyText* key) {
  return evaluate(request, key, false, [this](const Inputs& inputs, Evaluated& result) { result.row = row_of(simulate(inputs, options_).report); });
}

Evaluated Evaluator::evaluate_brief(const Request& request, double limit_s) {
  return evaluate(request, nullptr, true, [this, limit_s](const Inputs& inputs, Evaluated& result) {
    const std::optional<Report> report = brief_report(inputs, options_, limit_s);
    result.bounded = !report;
    if (report) result.row = brief_row_of(*report);
  });
}

std::string pack(const Evaluated& e) {
  nlohmann::json cells = nlohmann::json::array();
  for (const Cell& cell : e.row.cells) {
    if (const auto* number = std::get_if<double>(&cell)) {
      cells.push_back(*number);
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      cells.push_back(*text);
    } else {
      cells.push_back(nullptr);
    }
  }
  const nlohmann::json head{{"key", e.key},     {"known", e.known}, {"bounded", e.bounded}, {"ending", static_cast<int>(e.row.ending)},
                            {"error", e.row.error}, {"cells", cells}};
  return head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" + e.row.report;
}

Evaluated unpack(const std::string& text) {
  const std::size_t end = text.find('\n');
  const nlohmann::json head = nlohmann::json::parse(text.substr(0, end));
  Evaluated e;
  e.key = head["key"];
  e.known = head["known"];
  e.bounded = head["bounded"];
  e.row.ending = static_cast<Ending>(head["ending"].get<int>());
  e.row.error = head["error"];
  for (const auto& cell : head["cells"]) {
    if (cell.is_number()) {
      e.row.cells.emplace_back(cell.get<double>());
    } else if (cell.is_string()) {
      e.row.cells.emplace_back(cell.get<std::string>());
    } else {
      e.row.cells.emplace_back();
    }
  }
  e.row.report = text.substr(end + 1);
  return e;
}

}  // namespace stepsim
