#include "sim/explore/sweep.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/explore/evaluator.hpp"
#include "sim/explore/workers.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

class Run {
 public:
  Run(const Sweep& sweep, Store& store, const SweepOptions& options)
      : sweep_(sweep), store_(store), options_(options), progress_(options.progress), claims_(sweep.size), started_(sweep.size),
        evaluator_(options.simulate, store.known(!options.retry_failed), &claims_) {
    const auto of = static_cast<std::size_t>(options.shard.of), first = static_cast<std::size_t>(options.shard.index);
    mine_ = sweep.size > first ? (sweep.size - first - 1) / of + 1 : 0;
    counts_.points = static_cast<std::int64_t>(mine_);
  }

  SweepCounts counts() {
    store_.begin(sweep_.name, mine_, [this](std::size_t k) { return sweep_.point(mine(k)).entry; });
    if (mine_ == 0) return counts_;
    evaluator_.warm(sweep_.point(mine(0)).request);
    run_tasks(options_.workers, {.next = [this] { return next(); },
                                 .work = [this](std::size_t i) { return work(i); },
                                 .done = [this](const Answer& answer) { take(answer); },
                                 .tick = [this] { progress_.show(state_); }});
    return counts_;
  }

 private:
  // Of the shard's points.
  std::size_t mine(std::size_t k) const { return static_cast<std::size_t>(options_.shard.index) + k * static_cast<std::size_t>(options_.shard.of); }

  std::optional<std::size_t> next() {
    if (next_ == mine_) return std::nullopt;
    return mine(next_++);
  }

  std::string work(std::size_t i) { return pack(evaluator_.evaluate(sweep_.point(i).request, &started_[i])); }

  void take(const Answer& answer) {
    const SweepPoint point = sweep_.point(answer.task);
    Evaluated e;
    if (answer.crashed) {
      e.key = started_[answer.task].data();
      if (e.key.empty()) e.key = key_of_text(program_version() + "\n" + sweep_.name + "\n" + point.entry.label);
      e.row.ending = Ending::failed;
      e.row.error = answer.text;
    } else {
      e = unpack(answer.text);
    }
    if (!e.known) store_.put(e.key, e.row);
    store_.settle(sweep_.name, point.entry.position, e.key);
    count(e, point);
  }

  void count(const Evaluated& e, const SweepPoint& point) {
    ++state_.done;
    state_.total = counts_.points;
    if (e.known) {
      ++counts_.known;
      return;
    }
    if (e.row.ending == Ending::failed && counts_.failed++ == 0) counts_.first_failure = e.row.error;
    if (e.row.ending == Ending::refused) {
      if (counts_.refused++ == 0) counts_.first_refusal = e.row.error;
    }
    if (e.row.ending != Ending::done) return;
    ++counts_.simulated;
    ++state_.counted;
    const double time = number_in(e.row, "step_time_s");
    if (best_ > 0 && best_ <= time) return;
    best_ = time;
    state_.best = fmt::format("{}: {}", seconds_text(time), point.entry.label);
  }

  const Sweep& sweep_;
  Store& store_;
  const SweepOptions& options_;
  Progress progress_;
  Claims claims_;
  SharedArray<KeyText> started_;
  Evaluator evaluator_;
  std::size_t mine_ = 0;  // how many points the shard has
  std::size_t next_ = 0;
  SweepCounts counts_;
  ProgressState state_;
  double best_ = 0;
};

}  // namespace

Shard shard_from(const std::string& text) {
  const std::size_t slash = text.find('/');
  int index = 0, of = 0;
  const auto parse = [](std::string_view digits, int& into) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const bool sound = slash != std::string::npos && parse(std::string_view(text).substr(0, slash), index) &&
                     parse(std::string_view(text).substr(slash + 1), of) && of >= 1 && index >= 1 && index <= of;
  if (!sound) throw InputError({{"--shard", 0, "", fmt::format("\"{}\" is not I/N with 1 <= I <= N, such as 3/64", text)}});
  return {index - 1, of};
}

SweepCounts run_sweep(const Sweep& sweep, Store& store, const SweepOptions& options) {
  return Run(sweep, store, options).counts();
}

}  // namespace stepsim
