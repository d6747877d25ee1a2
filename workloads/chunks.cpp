#include "workloads/chunks.hpp"

#include <algorithm>
#include <map>

namespace stepsim {
namespace {

const Kernel* kernel_of(const Item& item) { return std::get_if<Kernel>(&item.what); }
const CollectiveCall* call_of(const Item& item) { return std::get_if<CollectiveCall>(&item.what); }
bool is_gemm(const Item& item) { return kernel_of(item) != nullptr && kernel_of(item)->kind == KernelClass::gemm; }

bool needs(const Item& item, int index) {
  return std::find(item.needs.begin(), item.needs.end(), index) != item.needs.end();
}

bool is_tensor(const Item& item, bool gather) {
  const CollectiveCall* call = call_of(item);
  if (call == nullptr || call->group != GroupKind::tensor || item.phase == Phase::weight_gradient) return false;
  if (gather) return call->operation == Operation::all_gather;
  return call->operation == Operation::all_reduce || call->operation == Operation::reduce_scatter;
}

// Items [first, last]: what is cut with a gather, a GEMM and maybe the quantisation of its input.
struct Stretch {
  int first = 0, last = 0;
};

// The GEMM that uses the gather at `at`, if only a memory-bound kernel that uses it too stands before.
std::optional<Stretch> users_of(const std::vector<Item>& items, int at) {
  int first = at + 1;
  while (first < static_cast<int>(items.size()) && !needs(items[first], at)) ++first;
  for (int i = first; i < static_cast<int>(items.size()) && i <= first + 1 && needs(items[i], at); ++i) {
    if (kernel_of(items[i]) == nullptr) break;
    if (is_gemm(items[i])) return Stretch{first, i};
  }
  return std::nullopt;
}

class Chunker {
 public:
  Chunker(const std::vector<Item>& items, int chunks) : items_(items), chunks_(chunks), last_of_(items.size(), -1) {}

  std::vector<Item> run() {
    for (int i = 0; i < static_cast<int>(items_.size()); ++i) {
      if (is_tensor(items_[i], true)) {
        if (const auto stretch = users_of(items_, i)) gathered_[stretch->first] = {i, *stretch};
      }
    }
    for (int i = 0; i < static_cast<int>(items_.size()); ++i) {
      const auto cut = gathered_.find(i);
      if (cut != gathered_.end()) {
        write_users(cut->second.first, cut->second.second);
        i = cut->second.second.last;
      } else if (is_gemm(items_[i]) && i + 1 < static_cast<int>(items_.size()) && is_tensor(items_[i + 1], false)) {
        write_reduced(i);
        ++i;
      } else {
        write(items_[i], i);
      }
    }
    return std::move(out_);
  }

 private:
  bool is_cut(int gather) const {
    return std::any_of(gathered_.begin(), gathered_.end(), [&](const auto& g) { return g.second.first == gather; });
  }

  void write(const Item& item, int at) {
    if (!is_cut(at)) return put(item, at, mapped(item.needs));
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      pieces_[at].push_back(static_cast<int>(out_.size()));
      put(piece(item), at, mapped(item.needs));
    }
  }

  void write_users(int gather, const Stretch& stretch) {
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      for (int i = stretch.first; i <= stretch.last; ++i) {
        std::vector<int> wanted = mapped(items_[i].needs);
        for (int& need : wanted) {
          if (need == last_of_[gather]) need = pieces_[gather][chunk];
        }
        put(piece(items_[i]), i, wanted);
      }
    }
  }

  void write_reduced(int gemm) {
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      put(piece(items_[gemm]), gemm, mapped(items_[gemm].needs));
      put(piece(items_[gemm + 1]), gemm + 1, mapped(items_[gemm + 1].needs));
    }
  }

  void put(Item item, int at, std::vector<int> needed) {
    item.needs = std::move(needed);
    last_of_[at] = static_cast<int>(out_.size());
    out_.push_back(std::move(item));
  }

  // Pieces of a collective run in order: whoever needs all of it waits for the last.
  std::vector<int> mapped(const std::vector<int>& needs) const {
    std::vector<int> result;
    for (const int index : needs) result.push_back(last_of_[index]);
    return result;
  }

  Item piece(Item item) const {
    if (CollectiveCall* call = std::get_if<CollectiveCall>(&item.what)) {
      call->payload = call->payload / chunks_;
      return item;
    }
    Kernel& kernel = std::get<Kernel>(item.what);
    const Bytes weights(is_gemm(item) ? kernel.n * kernel.k * bytes_per_element(kernel.precision) : 0);
    kernel.bytes = (kernel.bytes - weights) / chunks_ + weights;
    kernel.m /= chunks_;
    kernel.flops = kernel.flops / chunks_;
    kernel.model_flops = kernel.model_flops / chunks_;
    return item;
  }

  const std::vector<Item>& items_;
  int chunks_;
  std::vector<int> last_of_;                                // [old index] where (its last piece) stands now
  std::map<int, std::pair<int, Stretch>> gathered_;         // first item of a stretch -> its gather
  std::map<int, std::vector<int>> pieces_;                  // gather -> where its pieces stand
  std::vector<Item> out_;
};

}  // namespace

Block chunk_tensor_collectives(const Block& block, int chunks) {
  Block cut = block;
  cut.forward = Chunker(block.forward, chunks).run();
  cut.backward = Chunker(block.backward, chunks).run();
  return cut;
}

}  // namespace stepsim
