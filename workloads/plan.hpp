// ParallelPlan: how a model's training step is spread over a cluster. Every field is a key of the plan's YAML.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/base/precision.hpp"
#include "sim/cluster/gpu.hpp"
#include "workloads/schedule.hpp"

namespace stepsim {

enum class Axis : std::uint8_t { tensor, context, expert, data, pipeline };  // digits of a rank

struct Parallel {
  int tensor = 1;
  bool sequence = false;  // sequence parallelism beside tensor parallelism (activations between blocks are sharded too)
  int context = 1;
  // Keys and values go around a ring; or heads are exchanged for tokens (DeepSpeed-Ulysses); or every rank gathers all
  // keys and values for its own queries (Llama 3).
  enum class ContextMethod { ring, all_to_all, all_gather } context_method = ContextMethod::ring;
  int expert = 1;
  int expert_tensor = 1;
  int pipeline = 1;
  int virtual_stages = 1;  // chunks a pipeline rank holds (interleaved schedules)
  int data = 0;            // 0: auto = world / (tensor context pipeline)
  int zero = 1;            // ZeRO stage 0..3
  int zero_group = 0;      // ranks over which states are sharded; 0: all data-parallel ranks; -1: those of a node
  bool reshard_after_forward = true;
  std::array<Axis, 5> order = {Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline};

  // ZeRO-2 and 3 scatter gradients after each microbatch. With a pipeline they do so once, after the last one, as
  // PyTorch's pipeline runtime does (it switches gradient synchronisation off before): whole gradients are kept until then.
  bool reduces_each_microbatch() const { return zero >= 2 && pipeline == 1; }

  bool operator==(const Parallel&) const = default;
};

inline constexpr std::array<std::string_view, 3> kContextMethods = {"ring", "all_to_all", "all_gather"};
inline std::string_view to_text(Parallel::ContextMethod method) { return kContextMethods[static_cast<std::size_t>(method)]; }

struct Batch {
  std::int64_t global_sequences = 0;
  int microbatch_sequences = 1;
  int sequence_length = 0;
  // What-ifs ask about any number of tokens: every microbatch is so many times its sequences. Not a key.
  double factor = 1;

  double sequences() const { return factor * microbatch_sequences; }                            // a microbatch
  double tokens() const { return factor * static_cast<double>(global_sequences) * sequence_length; }  // a step

  bool operator==(const Batch&) const = default;
};

struct Precisions {
  Precision linear = Precision::bf16, attention = Precision::bf16, head = Precision::bf16;  // arithmetic
  Precision weights = Precision::bf16, gradients = Precision::fp32, master = Precision::fp32, moments = Precision::fp32;
  Precision activations = Precision::bf16;  // as kept for the backward pass
  Precision gather = Precision::bf16, reduce = Precision::fp32, dispatch = Precision::bf16, combine = Precision::bf16,
            pipeline = Precision::bf16;  // on the wires

  bool operator==(const Precisions&) const = default;
};

// Parts of a layer whose forward can be run again in the backward pass instead of keeping its activations.
// alternate: every second product of a dense layer as its formula has them in line (torchtitan's selective op policy): of
// queries, keys, values, output, gate, up and down those of keys, output and up, and the rotary embedding.
enum class Module : std::uint8_t { norm, attention, mla_up, swiglu, ffn, experts, alternate };
struct Recompute {
  bool full = false;  // the whole block from its input, collectives included
  int layers = 0;     // that do so, spread evenly over the model; 0: all of them
  std::set<Module> modules;

  // Whether the layer (0-based, of so many) is one of them.
  bool applies_to(std::int64_t layer, std::int64_t of) const {
    return layers == 0 || (layer + 1) * layers / of > layer * layers / of;
  }

  bool operator==(const Recompute&) const = default;
};

struct Overlap {
  int gather_prefetch = 1;  // blocks whose parameters are gathered ahead of the computing one
  enum class Reduce { async, at_end } reduce = Reduce::async;  // gradient reduction beside backward, or after it
  // ZeRO-1 and 2: updated parameters gathered after the optimizer, or beside the next step's first forward passes, block
  // by block (a step then begins with the gather that the step before left to it).
  enum class Parameters { at_end, async } parameters = Parameters::at_end;
  // blocking: compute waits for each collective; async: only what needs the result waits; paired: as async, and a
  // forward and a backward pass are interleaved so that one's collectives move under the other's compute (schedules
  // with overlapped pairs).
  enum class Policy { blocking, async, paired };
  Policy tensor = Policy::blocking, context = Policy::async, expert = Policy::blocking, pipeline = Policy::async;
  int tensor_chunks = 1;  // pieces into which a tensor-parallel GEMM and its collective are cut (chunks.hpp)

  bool operator==(const Overlap&) const = default;
};

struct SmUse {
  int communication = 0;  // SMs of communication kernels: partition: of all together; shared: of each that moves
  enum class Sharing { partition, shared } policy = Sharing::partition;  // always, or only while a transfer moves

  bool operator==(const SmUse&) const = default;
};

// How unequal experts are wanted; workloads/routing.hpp says what follows from it.
struct Routing {
  std::string balance = "uniform";  // uniform, zipf:EXPONENT, or a .csv or .yaml file of recorded counts
  enum class Balance { uniform, zipf, counts } kind = Balance::uniform;
  double zipf = 0;                          // expert e's share is in proportion to 1/(e + 1)^zipf
  std::vector<std::vector<double>> counts;  // tokens by expert: one list for all layers, or one a layer with experts
  int max_nodes = 0;  // nodes a token may be sent to; 0: no limit

  bool operator==(const Routing&) const = default;
};

// Memory that a GPU needs beside what the training program allocates. It counts in no peak; reports show it apart and
// say when a plan that fits leaves no room for it.
struct MemoryReserve {
  Bytes context{500e6};       // CUDA context and kernels' code; assumption
  Bytes communicator{600e6};  // of each NCCL communicator; 544 to 688 MB on A100s (github.com/NVIDIA/nccl/issues/964)
  double fragmentation = 0;   // of activations and of what else comes and goes, lost between blocks; assumption

  bool operator==(const MemoryReserve&) const = default;
};

// Which kernels a trainer runs where there is a choice.
struct Kernels {
  // flash: the best one the GPU has (FlashAttention-3 or cuDNN on Hopper); flash2: FlashAttention-2; triton: the first
  // FlashAttention, as written in Triton; unfused: scores in memory, one kernel a product, a softmax between them, as
  // before flash attention.
  enum class Attention : std::uint8_t { flash, flash2, triton, unfused } attention = Attention::flash;
  // Norms, activations, rotary embedding and loss in one kernel each, gradients accumulated by the GEMM that makes them;
  // or one kernel for each operation of the formula, and gradients added in a pass of their own.
  bool fused = true;
  bool dropout = false;  // of attention probabilities (unfused attention: a pass of its own) and before each residual
  // fused: one pass forward, one backward over the logits; separate: a cast to FP32 and an operation at a time, as
  // Megatron-LM's vocabulary-parallel cross-entropy does unless its fusion is switched on.
  enum class Loss : std::uint8_t { fused, separate } loss = Loss::fused;
  // one_pass: reads the gradients as they are, updates all. masters: as Megatron-LM's and Apex's mixed-precision
  // optimizers: gradients cast to the masters' format, (FP16) unscaled, clipped in a pass of its own, and the masters
  // copied to the weights afterwards. separate: an operation of Adam's formula at a time.
  enum class Optimizer : std::uint8_t { one_pass, masters, separate } optimizer = Optimizer::one_pass;
  // What ZeRO-2 and 3 do with the gradients of a microbatch and with gathered parameters. in_place: nothing but moving
  // them. flat: one flat gradient put together, cast for the reduction and divided by the ranks (PyTorch's FSDP).
  // by_parameter: gathered parameters copied out of the buffer, gradients copied and cast into one (FSDP2).
  enum class Shards : std::uint8_t { in_place, flat, by_parameter } shards = Shards::in_place;

  bool operator==(const Kernels&) const = default;
};

struct Algorithms {
  // all_to_all: of routed tokens. NCCL's (pairwise, rail_aligned) move a copy for each of a token's experts, packed by
  // destination, and a kernel sums the results; DeepEP's (node_limited; auto: that, inside one node a copy a GPU) read and
  // add rows where they are and move one copy for all experts on a GPU.
  bool packs_rows() const { return all_to_all == "pairwise" || all_to_all == "rail_aligned"; }

  std::string all_gather = "auto", reduce_scatter = "auto", all_reduce = "auto", all_to_all = "auto";

  bool operator==(const Algorithms&) const = default;
};

struct ParallelPlan {
  std::string name;
  Parallel parallel;
  Batch batch;
  std::string schedule = "1f1b";  // a name of the table of schedules, "automatic", or the path of a .csv file
  // The passes themselves where no name of the table stands for them: as the file says, or once "automatic" has found
  // them. plan_schedule.hpp answers for all cases.
  std::optional<Schedule> passes;
  std::string passes_origin;      // of what "automatic" found: "automatic", or the name of the table it could not improve on
  std::vector<int> stage_layers;  // layers of each stage; empty: auto
  Precisions precision;
  Recompute recompute;
  Kernels kernels;
  bool multi_token_prediction = false;  // the model's prediction_layers are trained with it
  bool clip_gradients = true;  // the norm of all gradients: a pass over them, and an all-reduce of one number
  Algorithms collectives;
  Overlap overlap;
  SmUse sms;
  Routing routing;
  MemoryReserve memory;
  Rates rates = Rates::speed_of_light;

  bool operator==(const ParallelPlan&) const = default;
};

// Reads a plan's YAML (keys as in workloads/plans). Problems that show without model and cluster go to `reading`.
ParallelPlan read_plan(Reading& reading, const std::string& path, const std::vector<Override>& overrides);

// Words of the keys `kernels`, in the order of their enumerations.
inline const std::vector<std::string_view> attention_words = {"flash", "flash2", "triton", "unfused"};
inline const std::vector<std::string_view> loss_words = {"fused", "separate"};
inline const std::vector<std::string_view> optimizer_words = {"one_pass", "masters", "separate"};
inline const std::vector<std::string_view> shards_words = {"in_place", "flat", "by_parameter"};

std::string_view to_text(Module module);
std::string_view to_text(Axis axis);

}  // namespace stepsim
