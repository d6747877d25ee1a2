#include "sim/explore/search.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <queue>

#include "sim/explore/evaluator.hpp"
#include "sim/explore/expression.hpp"
#include "sim/explore/progress.hpp"
#include "sim/explore/search_expand.hpp"
#include "sim/explore/workers.hpp"

namespace stepsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int32_t kListed = 2048;  // shapes at once
constexpr int kExpansionsALeaf = 16;  // while shapes wait: good plans found early bound the others

struct Node {
  double bound = 0;  // of the value
  double bound_s = 0, memory_bytes = 0;
  std::string by;
  PlanId id;

  // The queue's top is the least bound, of equals the first.
  bool operator<(const Node& other) const { return bound != other.bound ? bound > other.bound : id > other.id; }
};
using Queue = std::priority_queue<Node>;

// Plans that wait, by kind: those of equal leaf differ in nothing but their shape.
class Leaves {
 public:
  void push(Node node) {
    Kind& kind = kinds_[{node.id.base, node.id.leaf}];
    kind.queue.push(std::move(node));
    ++size_;
  }
  // A plan of the kind took `times` its bound (or longer).
  void learn(const PlanId& id, double times) {
    Kind& kind = kinds_[{id.base, id.leaf}];
    kind.times = kind.known == 0 ? times : std::min(kind.times, times);
    ++kind.known;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The one that is expected to be best: kinds that nobody has tried as good as the best kind, so that each is tried.
  const Node* top() {
    double least_times = kNever;
    for (const auto& [id, kind] : kinds_) {
      if (kind.known > 0) least_times = std::min(least_times, kind.times);
    }
    if (least_times == kNever) least_times = 1;
    double least = kNever;
    chosen_ = nullptr;
    for (auto& [id, kind] : kinds_) {
      if (kind.queue.empty()) continue;
      const double expected = kind.queue.top().bound * (kind.known > 0 ? kind.times : least_times);
      if (chosen_ == nullptr || expected < least) chosen_ = &kind;
      least = std::min(least, expected);
    }
    return chosen_ == nullptr ? nullptr : &chosen_->queue.top();
  }
  void pop() {  // what top() has named
    chosen_->queue.pop();
    --size_;
  }
  template <class Visit>
  void drain(const Visit& visit) {
    for (auto& [id, kind] : kinds_) {
      for (; !kind.queue.empty(); kind.queue.pop()) visit(kind.queue.top());
    }
    size_ = 0;
  }

 private:
  struct Kind {
    Queue queue;
    double times = 1;
    int known = 0;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Kind> kinds_;
  Kind* chosen_ = nullptr;
  std::size_t size_ = 0;
};

// The same questions of the shapes that wait.
class Shapes {
 public:
  void push(Node node) { queue_.push(std::move(node)); }
  bool empty() const { return queue_.empty(); }
  std::size_t size() const { return queue_.size(); }
  const Node* top() const { return queue_.empty() ? nullptr : &queue_.top(); }
  void pop() { queue_.pop(); }
  template <class Visit>
  void drain(const Visit& visit) {
    for (; !queue_.empty(); queue_.pop()) visit(queue_.top());
  }

 private:
  Queue queue_;
};

enum class Kind : std::uint64_t { own, list, expand, simulate };
struct Task {
  Kind kind = Kind::own;
  PlanId id;  // list: shape is the first of them
};

// In one number, so that workers forked before a plan was thought of know it.
std::size_t number_of(const Task& task) {
  return static_cast<std::size_t>(task.kind) << 62 | static_cast<std::size_t>(task.id.base) << 48 |
         static_cast<std::size_t>(task.id.shape) << 20 | static_cast<std::size_t>(task.id.leaf);
}
Task task_of(std::size_t number) {
  return {static_cast<Kind>(number >> 62), {static_cast<std::int32_t>(number >> 48 & 0x3fff),
                                            static_cast<std::int32_t>(number >> 20 & 0xfffffff),
                                            static_cast<std::int32_t>(number & 0xfffff)}};
}

std::int64_t position_of(const PlanId& id) { return static_cast<std::int64_t>(number_of({Kind::own, id})); }

bool better(const SearchFind& a, const SearchFind& b) { return a.value != b.value ? a.value < b.value : a.id < b.id; }

class Search {
 public:
  Search(const SearchSpace& space, const Request& own, Store& store, const SearchOptions& options)
      : space_(space), own_(own), store_(store), options_(options), objective_(*find_objective(options.objective)),
        progress_(options.progress), limit_(1), evaluator_(options.simulate, store.known(true), nullptr), expander_(space) {
    for (const SearchBase& base : space.bases()) factors_.push_back(objective_.factor(base.inputs));
    given_ = space.given();
    result_.combinations = space.combinations();
    result_.name = "search " + space.bases().front().inputs.name;
    limit_[0] = kNever;
  }

  SearchResult result() {
    for (const SearchBase& base : space_.bases()) evaluator_.warm(base.request);
    run_tasks(options_.workers, {.next = [this] { return next(); },
                                 .work = [this](std::size_t number) { return work(task_of(number)); },
                                 .done = [this](const Answer& answer) { take(task_of(answer.task), answer); },
                                 .tick = [this] { tell(); }});
    result_.best.resize(std::min(result_.best.size(), static_cast<std::size_t>(options_.top)));
    count_left();
    find_front();
    return std::move(result_);
  }

 private:
  // ---- in the parent

  bool out_of_time() const {
    return options_.seconds > 0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count() > options_.seconds;
  }

  // What time ran out for.
  void count_left() {
    const auto count = [&](const Node& node, double plans) {
      if (options_.prune && !may_win(node)) {
        result_.bounded += plans;
        result_.bounded_by[node.by] += plans;
        return;
      }
      result_.left_bound = result_.left > 0 ? std::min(result_.left_bound, node.bound) : node.bound;
      result_.left += plans;
    };
    leaves_.drain([&](const Node& node) { count(node, 1); });
    shapes_.drain([&](const Node& node) { count(node, space_.leaves()); });
  }

  std::optional<std::size_t> next() {
    if (asked_own_ && listing_ == 0 && list_base_ == static_cast<std::int32_t>(space_.bases().size()) && out_of_time()) return std::nullopt;
    if (!asked_own_) {
      asked_own_ = true;
      return number_of({Kind::own, {}});
    }
    if (list_base_ < static_cast<std::int32_t>(space_.bases().size())) return next_list();
    if (listing_ > 0) return std::nullopt;  // the most promising shape is not known before all are
    const bool few = result_.best.size() < static_cast<std::size_t>(options_.top);  // and so no limit yet
    const bool leaf_first = few || since_leaf_ >= kExpansionsALeaf || shapes_.empty();
    if (leaf_first) {
      if (const auto leaf = pop(leaves_, 1)) {
        since_leaf_ = 0;
        return number_of({Kind::simulate, *leaf});
      }
    }
    if (const auto shape = pop(shapes_, space_.leaves())) {
      ++since_leaf_;
      ++expanding_;
      return number_of({Kind::expand, *shape});
    }
    if (expanding_ > 0 && !leaf_first) since_leaf_ = kExpansionsALeaf;  // nothing to expand for now: simulate
    const auto leaf = pop(leaves_, 1);
    if (!leaf) return std::nullopt;
    return number_of({Kind::simulate, *leaf});
  }

  std::size_t next_list() {
    const PlanId first{list_base_, list_shape_, 0};
    list_shape_ += kListed;
    if (list_shape_ >= space_.shapes()) {
      list_shape_ = 0;
      ++list_base_;
    }
    ++listing_;
    return number_of({Kind::list, first});
  }

  void take_listing(const PlanId& first, const Answer& answer) {
    --listing_;
    if (answer.crashed) throw std::runtime_error("bounds of shapes: " + answer.text);
    const Expander::Listing listing = unpack_listing(answer.text);
    result_.illegal += listing.illegal;
    result_.too_large += listing.too_large;
    for (const Leaf& s : listing.shapes) {
      // The shape of the plan that was given comes first: its plans are a measure for the others.
      const bool given = given_ && given_->base == first.base && given_->shape == s.leaf;
      shapes_.push({given ? 0 : s.seconds * factors_[first.base], s.seconds, s.memory_bytes, s.by, {first.base, s.leaf, 0}});
    }
  }

  // The most promising node that may still win; the others are counted.
  template <class Waiting>
  std::optional<PlanId> pop(Waiting& waiting, double plans) {
    while (const Node* top = waiting.top()) {
      const Node node = *top;
      waiting.pop();
      if (!options_.prune || may_win(node)) {
        if (plans == 1) leaf_nodes_[node.id] = node;
        return node.id;
      }
      result_.bounded += plans;
      result_.bounded_by[node.by] += plans;
    }
    return std::nullopt;
  }

  bool may_win(const Node& node) const {
    if (!(node.bound > limit_value_)) return true;
    if (!options_.front) return false;
    return std::none_of(all_.begin(), all_.end(), [&](const SearchFind& f) {
      return f.seconds <= node.bound_s && f.memory_bytes <= node.memory_bytes;
    });
  }

  void take(const Task& task, const Answer& answer) {
    if (task.kind == Kind::list) return take_listing(task.id, answer);
    if (task.kind == Kind::expand) return take_expansion(task.id, answer);
    Evaluated e;
    if (answer.crashed) {
      e.key = key_of_text(program_version() + fmt::format("{} {}", result_.name, answer.task));
      e.row.ending = Ending::failed;
      e.row.error = answer.text;
    } else {
      e = unpack(answer.text);
    }
    if (e.bounded) {
      if (leaf_nodes_.contains(task.id)) leaves_.learn(task.id, limit_value_ / leaf_nodes_.at(task.id).bound);
      ++result_.bounded;
      ++result_.bounded_by["all but contention"];
      return;
    }
    if (e.known) {
      e.row = store_.get(e.key);
    } else {
      store_.put(e.key, e.row);
    }
    if (task.kind == Kind::own) return take_own(e);
    keep(task.id, e);
  }

  void take_own(const Evaluated& e) {
    if (e.row.ending == Ending::failed) spdlog::error("the experiment's own plan failed: {}", e.row.error);
    if (e.row.ending != Ending::done) return;
    SearchFind own = find_of({-1, 0, 0}, e);
    own.label = "the experiment's own";
    own.value *= factors_.front();
    result_.own.push_back(own);
  }

  void take_expansion(const PlanId& id, const Answer& answer) {
    --expanding_;
    if (answer.crashed) throw std::runtime_error(fmt::format("bounds of {}: {}", space_.label(id), answer.text));
    const Expansion e = unpack_expansion(answer.text);
    result_.illegal += e.illegal;
    result_.repeated += e.repeated;
    result_.too_large += e.too_large;
    result_.bounded += e.bounded;
    for (const auto& [by, number] : e.bounded_by) result_.bounded_by[by] += number;
    for (const Leaf& leaf : e.leaves) {
      leaves_.push({leaf.seconds * factors_[id.base], leaf.seconds, leaf.memory_bytes, leaf.by, {id.base, id.shape, leaf.leaf}});
    }
    ++expanded_;
  }

  SearchFind find_of(const PlanId& id, const Evaluated& e) const {
    SearchFind find;
    find.id = id;
    find.key = e.key;
    find.seconds = find.value = number_in(e.row, "step_time_s");
    find.memory_bytes = number_in(e.row, "peak_memory_bytes");
    return find;
  }

  void keep(const PlanId& id, const Evaluated& e) {
    Entry entry{position_of(id), space_.label(id), {}};
    for (const auto& [key, value] : space_.values(id)) entry.varied.emplace_back(key, cell_from(value));
    store_.add(result_.name, entry, e.key);
    if (e.row.ending != Ending::done) {
      ++(e.row.ending == Ending::failed ? result_.failed : result_.illegal);
      return;
    }
    ++result_.simulated;
    SearchFind find = find_of(id, e);
    find.value *= factors_[id.base];
    find.bound_s = leaf_nodes_.at(id).bound_s;
    leaves_.learn(id, find.value / leaf_nodes_.at(id).bound);
    find.label = entry.label;
    all_.push_back(find);
    auto& best = result_.best;
    best.insert(std::upper_bound(best.begin(), best.end(), find, better), find);
    const auto top = static_cast<std::size_t>(options_.top);
    if (best.size() < top) return;
    best.resize(top);
    limit_value_ = best.back().value;
    limit_[0] = limit_value_;
  }

  // No other is at least as good in both and better in one.
  void find_front() {
    std::sort(all_.begin(), all_.end(), [](const SearchFind& a, const SearchFind& b) {
      if (a.seconds != b.seconds) return a.seconds < b.seconds;
      return a.memory_bytes != b.memory_bytes ? a.memory_bytes < b.memory_bytes : a.id < b.id;
    });
    double least = kNever;
    for (const SearchFind& f : all_) {
      if (f.memory_bytes >= least) continue;
      least = f.memory_bytes;
      result_.front.push_back(f);
    }
  }

  void tell() {
    ProgressState state;
    state.done = static_cast<std::int64_t>(result_.simulated);
    state.counted = state.done;
    state.best = fmt::format("{}; {} shapes bounded, {} wait; {} plans wait",
                             result_.best.empty() ? "none yet" : objective_.text(result_.best.front().value) + ": " + result_.best.front().label,
                             expanded_, shapes_.size(), leaves_.size());
    progress_.show(state);
  }

  // ---- in a worker

  std::string work(const Task& task) {
    if (task.kind == Kind::own) return pack(evaluator_.evaluate(own_));
    const bool all = !options_.prune || options_.front;
    const double limit_s = all ? kNever : limit_[0] / factors_[task.id.base];
    if (task.kind == Kind::simulate) return pack(evaluator_.evaluate_brief(space_.request(task.id), limit_s));
    if (task.kind == Kind::list) {
      const std::int32_t end = std::min(task.id.shape + kListed, space_.shapes());
      return pack(expander_.list(task.id.base, task.id.shape, end));
    }
    return pack(expander_.expand(task.id.base, task.id.shape, limit_s));
  }

  const SearchSpace& space_;
  const Request& own_;
  Store& store_;
  const SearchOptions& options_;
  const Objective& objective_;
  Progress progress_;
  SharedArray<double> limit_;  // the value that the N-th best has
  Evaluator evaluator_;
  Expander expander_;
  std::vector<double> factors_;  // [base]
  Shapes shapes_;
  Leaves leaves_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::map<PlanId, Node> leaf_nodes_;  // of leaves that were handed out
  std::vector<SearchFind> all_;
  std::optional<PlanId> given_;
  bool asked_own_ = false;
  std::int32_t list_base_ = 0, list_shape_ = 0;  // the next shapes to list
  int listing_ = 0, since_leaf_ = 0, expanding_ = 0;
  std::int64_t expanded_ = 0;
  double limit_value_ = kNever;
  SearchResult result_;
};

}  // namespace

SearchResult search(const SearchSpace& space, const Request& own, Store& store, const SearchOptions& options) {
  return Search(space, own, store, options).result();
}

}  // namespace stepsim
