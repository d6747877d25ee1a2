#include "workloads/published/translation.hpp"

namespace stepsim {

// Every assumption that a row may need, in one place; stepsim validate prints those that its rows needed.
const std::vector<Assumption>& run_assumptions() {
  static const std::vector<Assumption> table = {
      {"gpt-style", "a plain feed-forward network and as many key/value heads as heads: GPT, with layer norms and learned "
                    "positions",
       {"model.norm=rms", "model.rotary=1"}},
      {"dropout", "runs without flash attention train with dropout (Megatron-LM's default, 0.1)", {"plan.kernels.dropout=false"}},
      {"flash2", "flash attention without a version: FlashAttention-2", {"plan.kernels.attention=flash"}},
      {"triton", "llm-foundry without a word on attention: attn_impl triton, the default of its benchmark script "
                 "(scripts/train/benchmarking/submit_benchmarks.py)",
       {"plan.kernels.attention=flash"}},
      {"separate-loss", "cross-entropy without a word on fusion: Megatron-LM's vocabulary-parallel one, an operation at a time in FP32",
       {"plan.kernels.loss=fused"}},
      {"masters", "gradients are cast to FP32 masters, clipped in a pass of their own, and masters copied to weights, as "
                  "Megatron-LM's and Apex's mixed-precision optimizers do",
       {"plan.kernels.optimizer=one_pass"}},
      {"separate-adam", "llm-foundry's optimizer is DecoupledAdamW, an operation at a time", {"plan.kernels.optimizer=one_pass"}},
      {"flat-shards", "FSDP without use_orig_params puts gradients together, casts and divides them every microbatch",
       {"plan.kernels.shards=in_place"}},
      {"copied-shards", "FSDP2 and Megatron-FSDP copy gathered parameters out of a buffer and gradients into one",
       {"plan.kernels.shards=in_place"}},
      {"blocking-messages", "pipelines that are not Megatron-Core's interleaved one wait for each message",
       {"plan.overlap.pipeline=async"}},
      {"rack-use", "jobs on several NVL72 racks take 64 GPUs of each", {}},
      {"network", "bandwidth between nodes not stated: the shipped cluster's own", {}},
      {"overlap", "ZeRO-1 without a word on overlap: gradients and parameters move beside compute, as the frameworks' "
                  "performance recipes have it",
       {"plan.overlap.reduce=at_end", "plan.overlap.parameters=at_end"}},
      {"ddp-overlap", "plain DDP without a word on overlap: buckets are reduced beside the backward pass",
       {"plan.overlap.reduce=at_end"}},
      {"deepspeed-zero", "DeepSpeed's ZeRO-1 reduces and gathers after the last pass",
       {"plan.overlap.reduce=async", "plan.overlap.parameters=async"}},
      {"fp16-gradients", "FP16 training accumulates and reduces gradients in FP16, as Megatron-LM's and DeepSpeed's defaults",
       {"plan.precision.gradients=fp32", "plan.precision.reduce=fp32"}},
      {"recompute-unstated", "recompute not stated: none", {"plan.recompute=full"}},
      {"uneven-layers", "layers that do not divide: as even as can be, embedding and head counted as a layer each",
       {"plan.stage_layers=auto"}},
      {"sharding", "sharding not stated: ZeRO-1", {"plan.parallel.zero=0"}},
      {"selective-op", "torchtitan's per-op recomputation: norms, rotary embedding, the inner activation and every second product",
       {"plan.recompute=[norm, swiglu]"}},
      {"eager", "PyTorch's own attention without a word on compiling: a kernel an operation of the other formulas (torchtitan of "
                "April 2024 has an optional fused norm)",
       {"plan.kernels.elementwise=fused"}},
      {"communication-sms", "collectives hold 20 SMs while they move, as many as DeepSeek-V3's kernels do",
       {"plan.sms.communication=0"}},
      {"virtual-stages", "interleaved schedule without a number of chunks: one layer each", {}},
      {"context-method", "context parallelism not described: a ring (Megatron-Core's default)",
       {"plan.parallel.context_method=all_to_all"}},
      {"tensor-overlap", "overlap of tensor parallelism not stated: blocking", {}},
      {"balanced-experts", "every expert gets as many tokens", {"plan.routing.balance=zipf:0.3"}},
  };
  return table;
}

const std::vector<Assumption>& cost_elements() {
  static const std::vector<Assumption> table = {
      {"calibrated", "kernels priced by shape, from measurements; instead: one rate a precision", {"plan.rates=speed_of_light"}},
      {"slowest-gpu", "all wait for the slowest GPU (assumption: 1.5 % standard deviation); instead: GPUs are alike",
       {"cluster.gpu.spread=0"}},
      {"node-steps", "steps of collectives within a node as measured; instead: the wires' own latencies, 3.33 us a step",
       {"cluster.gpu.rates.calibrated.node_steps.step=3.33us", "cluster.gpu.rates.calibrated.node_steps.fill=0us"}},
      {"all-to-all", "all-to-alls reach the measured part of the wires' rate; instead: all of it",
       {"cluster.gpu.rates.calibrated.all_to_all.inside=1", "cluster.gpu.rates.calibrated.all_to_all.between=1"}},
      {"reduction", "norms, softmax and loss reach less of HBM's bandwidth than a plain pass (measured on the loss); instead: as much",
       {"cluster.gpu.rates.calibrated.reduction=1"}},
      {"elementwise", "passes over memory reach what training's were measured to; instead: what a stream benchmark does",
       {"cluster.gpu.rates.calibrated.elementwise=1"}},
      {"permutation", "putting a mixture's rows in order reaches the measured part of that; instead: all of it",
       {"cluster.gpu.rates.calibrated.permutation=1"}},
      {"memory-start", "a pass over memory takes 40 us (A100) or 30 us (B200) beyond its bytes, as the source of its bandwidth states (assumption; "
                       "others: the mean); instead: 3 us, as a small product",
       {"cluster.gpu.rates.calibrated.memory_start=3us"}},
  };
  return table;
}

}  // namespace stepsim
