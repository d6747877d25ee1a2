// Attention as every kind shares it: norm, core attention with its context parallelism, output projection.
//
// Core attention is a flash kernel: no scores in memory. Per head and sequence, with q queries that see n keys each
// on average, forward runs two products (query/key width, value width): 2 q n (d_qk + d_v) FLOPs. Backward runs five,
// one of them the scores once more: three of the query/key width and two of the value width, so 2.5 x forward where
// the widths are equal and 2.6 x for MLA (192 and 128). The model's own arithmetic counts two of each: 2 x forward.
// What a real kernel loses beside that is efficiency and belongs to the rates.
#include "workloads/layer_parts.hpp"

namespace stepsim {
namespace {

double element_bytes(const LayerShape& s) {
  return s.stream_bytes;
}

double queries_bytes(const LayerShape& s) {
  return s.tokens * s.heads * s.qk_dim * element_bytes(s);
}
double keys_bytes(const LayerShape& s) {
  return s.tokens * s.kv_heads * s.qk_dim * element_bytes(s);
}
double values_bytes(const LayerShape& s) {
  return s.tokens * s.kv_heads * s.v_dim * element_bytes(s);
}
double output_bytes(const LayerShape& s) {
  return s.tokens * s.heads * s.v_dim * element_bytes(s);
}
double statistics_bytes(const LayerShape& s) {
  return s.tokens * s.heads * 4;
}  // log-sum-exp, FP32

Linear output_projection(const LayerShape& s) {
  return {.name = "o",
          .rows = s.tokens,
          .in = s.heads * s.v_dim,
          .out = static_cast<double>(s.model.hidden),
          .precision = s.plan.precision.linear};
}

Kernel core_kernel(const LayerShape& s) {
  Kernel kernel{.name = "core attention", .kind = KernelClass::attention};
  kernel.precision = s.plan.precision.attention;
  kernel.m = s.core_queries;
  kernel.n = s.average_keys;
  kernel.k = s.qk_dim + s.v_dim;
  kernel.groups = s.core_heads * s.sequences;
  kernel.most_keys = s.plan.batch.sequence_length;
  if (s.windowed) kernel.most_keys = std::min<double>(s.model.attention.window, kernel.most_keys);
  kernel.flash = s.plan.kernels.attention == Kernels::Attention::flash2   ? Kernel::Flash::flash2
                 : s.plan.kernels.attention == Kernels::Attention::triton ? Kernel::Flash::triton
                                                                          : Kernel::Flash::best;
  kernel.flops = Flops(2 * kernel.m * kernel.n * kernel.k * kernel.groups);
  kernel.model_flops = kernel.flops;
  return kernel;
}

// Keys and values of the whole sequences, as one GPU's core reads them.
double whole_keys_values_bytes(const LayerShape& s) {
  const double length = s.plan.batch.sequence_length;
  return s.sequences * length * s.core_kv_heads * (s.qk_dim + s.v_dim) * element_bytes(s);
}

int context_call(BlockWriter& w, std::string_view name, Operation operation, double bytes,
                 const std::vector<int>& needs = {}) {
  return w.call({.name = name, .group = GroupKind::context, .operation = operation, .payload = Bytes(bytes)}, needs);
}

bool exchanges(const LayerShape& s) {
  return s.plan.parallel.context_method == Parallel::ContextMethod::all_to_all;
}

bool gathers(const LayerShape& s) {
  return s.plan.parallel.context_method == Parallel::ContextMethod::all_gather;
}

// Steps of ring attention: 1 without context parallelism over a ring.
int ring_steps(const LayerShape& s) {
  return s.plan.parallel.context_method == Parallel::ContextMethod::ring ? s.plan.parallel.context : 1;
}

// All-gather context parallelism (Llama 3, section 3.3.2; balanced for causal masks): every rank has all keys and values
// for its own queries. Only its own are kept: the backward pass gathers again, and scatters the gradients' sums
// (Transformer Engine, context_parallel.py).
int gather_keys_values(BlockWriter& w, const std::vector<int>& needs = {}) {
  if (!gathers(w.shape())) return -1;
  return context_call(w, "kv gather", Operation::all_gather, whole_keys_values_bytes(w.shape()), needs);
}

// Ring attention (Liu et al., 2023; balanced for causal masks, so that steps are alike): the core's work in n steps. While
// a step attends to one block of keys and values, the next block comes from the neighbour; a step waits for its block.
// Each step's result of `merged_bytes` is then added to that of the steps before: two reads, one write (Transformer Engine,
// context_parallel.py). `after_step` is called with each step's index.
template <class AfterStep>
void ring_core(BlockWriter& w, Kernel kernel, double whole_bytes, double block_bytes, double merged_bytes,
               const std::vector<int>& needs, const AfterStep& after_step) {
  const LayerShape& s = w.shape();
  const int n = ring_steps(s);
  kernel.n /= n;
  kernel.most_keys /= n;
  kernel.flops = kernel.flops / n;
  kernel.model_flops = kernel.model_flops / n;
  kernel.bytes = Bytes(whole_bytes + block_bytes);
  const double block = whole_keys_values_bytes(s) / n;
  int arrived = -1;
  for (int step = 0; step < n; ++step) {
    const int next = step + 1 < n ? context_call(w, "kv ring", Operation::shift, block, step == 0 ? needs : std::vector<int>{}) : -1;
    std::vector<int> waits = step == 0 ? needs : std::vector<int>{};
    waits.push_back(arrived);
    w.kernel(kernel, waits);
    if (n > 1) w.memory("merge", 3 * merged_bytes);
    after_step(step);
    arrived = next;
  }
}

// All-to-all context parallelism (DeepSpeed-Ulysses): whole sequences for a part of the heads.
std::vector<int> exchange_inputs(BlockWriter& w) {
  const LayerShape& s = w.shape();
  if (!exchanges(s)) return {};
  return {context_call(w, "query exchange", Operation::all_to_all, queries_bytes(s)),
          context_call(w, "key exchange", Operation::all_to_all, keys_bytes(s)),
          context_call(w, "value exchange", Operation::all_to_all, values_bytes(s))};
}

int exchange_output(BlockWriter& w, std::string_view name) {
  if (!exchanges(w.shape())) return -1;
  return context_call(w, name, Operation::all_to_all, output_bytes(w.shape()));
}

std::vector<int> and_also(std::vector<int> needs, int one) {
  needs.push_back(one);
  return needs;
}

// Returns the exchange of the output.
int core_forward(BlockWriter& w, const std::vector<int>& needs) {
  const LayerShape& s = w.shape();
  if (is_unfused(s)) return unfused_forward(w, needs), -1;
  const int gathered = gather_keys_values(w, needs);
  // Each step reads the queries and its block, and writes (from the second on: updates) the output.
  ring_core(w, core_kernel(s), queries_bytes(s) + output_bytes(s) + statistics_bytes(s),
            whole_keys_values_bytes(s) / ring_steps(s), output_bytes(s), and_also(needs, gathered), [](int) {});
  return exchange_output(w, "output exchange");
}

// Returns what the projections' backward waits for.
std::vector<int> core_backward(BlockWriter& w, const std::vector<int>& needs) {
  const LayerShape& s = w.shape();
  if (is_unfused(s)) {
    unfused_backward(w, needs);
    w.gradient(queries_bytes(s) + keys_bytes(s) + values_bytes(s));
    return {};
  }
  Kernel kernel = core_kernel(s);
  kernel.model_flops = kernel.flops * 2;
  kernel.flops = Flops(2 * kernel.m * kernel.n * kernel.groups * (3 * s.qk_dim + 2 * s.v_dim));
  const int gathered = gather_keys_values(w);
  // Reads q, k, v, o, do; writes dq, dk, dv.
  // The gradients of a block travel on with it, one step behind, and a last step home.
  int home = -1;
  const double block = whole_keys_values_bytes(s) / ring_steps(s);
  ring_core(w, kernel, 2 * queries_bytes(s) + 2 * output_bytes(s) + statistics_bytes(s), 2 * block, queries_bytes(s) + block,
            and_also(needs, gathered), [&](int) {
    if (!exchanges(s) && !gathers(s)) home = context_call(w, "kv ring gradient", Operation::shift, block, {home});
  });
  // Of gathered keys and values the sums' gradients exist whole.
  w.gradient(queries_bytes(s) + (gathers(s) ? whole_keys_values_bytes(s) : keys_bytes(s) + values_bytes(s)));
  if (gathers(s)) return {context_call(w, "kv gradient", Operation::reduce_scatter, whole_keys_values_bytes(s))};
  if (!exchanges(s)) return {home};
  return {context_call(w, "query exchange gradient", Operation::all_to_all, queries_bytes(s)),
          context_call(w, "key exchange gradient", Operation::all_to_all, keys_bytes(s)),
          context_call(w, "value exchange gradient", Operation::all_to_all, values_bytes(s))};
}

// Rotary embedding of queries and keys, in place, of the part of a head that it turns; MLA's keys are put together from
// the shared rotary part and each head's own.
void rotary(BlockWriter& w, const std::vector<int>& needs = {}) {
  const LayerShape& s = w.shape();
  const Attention& a = s.model.attention;
  const bool awaited = std::any_of(needs.begin(), needs.end(), [](int index) { return index >= 0; });
  if (!s.latent() && s.model.rotary == 0 && !awaited) return;
  const double grouped = 2 * (s.heads + s.kv_heads) * s.qk_dim * s.model.rotary;
  const double latent = 2 * s.heads * a.rope_dim + a.rope_dim + s.heads * (a.nope_dim + s.qk_dim);
  // Unfused: halves swapped (2 kernels), two products, their sum.
  const double bytes = s.tokens * (s.latent() ? latent : grouped) * s.stream_bytes;
  w.elementwise("rope", bytes, {5 * bytes, 5}, needs);
}

Projections projections(const LayerShape& s) {
  return s.latent() ? latent_projections() : grouped_query_projections();
}

bool norms_queries(const LayerShape& s) {
  return s.model.attention.qk_norm != Attention::QkNorm::none;
}

void query_key_norm(BlockWriter& w) {
  const LayerShape& s = w.shape();
  if (norms_queries(s)) norm_forward(w, "q k norm", s.tokens, (s.heads + s.kv_heads) * s.qk_dim);
}

std::vector<int> up_to_core(BlockWriter& w) {
  query_key_norm(w);
  rotary(w);
  return exchange_inputs(w);
}

// What the plan recomputes before the core's backward: the projections, and with `core` the core itself. Returns the
// exchanges whose results are still to be waited for.
std::vector<int> recompute_for_core(BlockWriter& w, bool core) {
  const PhaseScope scope(w, Phase::recompute);
  projections(w.shape()).recompute(w);
  std::vector<int> inputs;
  if (w.shape().latent() && w.recomputes(Module::mla_up)) inputs = up_to_core(w);
  if (w.recomputes(Module::norm)) query_key_norm(w);
  return core ? std::vector<int>{core_forward(w, inputs)} : inputs;
}

// Keys and output, whose products count second and fourth.
void recompute_alternate(BlockWriter& w) {
  const LayerShape& s = w.shape();
  if (!w.recomputes(Module::alternate)) return;
  const PhaseScope scope(w, Phase::recompute);
  w.forward({.name = "keys", .rows = s.tokens, .in = static_cast<double>(s.model.hidden), .out = s.kv_heads * s.qk_dim,
             .precision = s.plan.precision.linear});
  rotary(w);
  w.forward(output_projection(s));
}

}  // namespace

void attention_norm_forward(BlockWriter& w) {
  norm_forward(w, "attention norm", w.shape().rows, w.shape().model.hidden);
}

void attention_forward(BlockWriter& w) {
  const LayerShape& s = w.shape();
  attention_norm_forward(w);
  projections(s).forward(w);
  const int exchanged = core_forward(w, up_to_core(w));
  const Linear o = output_projection(s);
  w.quantise(o.rows, o.in, o.precision, 1, {exchanged});
  w.forward(o, {exchanged});
  sublayer_end_forward(w, "attention post norm", w.reduce("attention output", s.model.hidden));
}

void attention_backward(BlockWriter& w) {
  const LayerShape& s = w.shape();
  dropout_backward(w);
  recompute_alternate(w);
  const Linear o = output_projection(s);
  sublayer_end_backward(w, "attention post norm");
  const int gathered = w.gather("attention output gradient", s.model.hidden);
  w.input_gradient(o, {gathered});
  const int exchanged = exchange_output(w, "output exchange gradient");
  std::vector<int> needs{exchanged};
  if (w.recomputes(Module::attention)) {  // the weight gradient reads the core's output
    w.weight_gradient(o, {gathered, recompute_for_core(w, true).front()});
  } else {
    w.weight_gradient(o, {gathered});
    for (int input : recompute_for_core(w, false)) needs.push_back(input);
  }
  rotary(w, core_backward(w, needs));
  if (norms_queries(s)) norm_backward(w, "q k norm", s.tokens, (s.heads + s.kv_heads) * s.qk_dim);
  projections(s).backward(w);
  residual_add(w);
}

void attention_activations(BlockWriter& w) {
  const LayerShape& s = w.shape();
  dropout_activations(w);
  const bool up = s.latent() && w.recomputes(Module::mla_up), core = w.recomputes(Module::attention);
  const double h = s.model.hidden;
  w.part(ActivationPart::norm);
  w.keep_input(s.rows * h * s.stream_bytes);
  w.keep(s.rows * activation_row_bytes(h, w.precision().activations),
         {.weight_gradient = true, .dropped = w.recomputes(Module::norm)});
  w.part(ActivationPart::attention);
  projections(s).activations(w);
  w.keep(queries_bytes(s) + keys_bytes(s) + values_bytes(s), {.dropped = up});
  if (norms_queries(s)) w.keep(queries_bytes(s) + keys_bytes(s), {.dropped = w.recomputes(Module::norm)});  // normed
  // The output is kept once, in the stream's format: the core's backward and the projection's weight gradient share it.
  w.keep(output_bytes(s), {.weight_gradient = true, .dropped = core});
  w.keep(is_unfused(s) ? unfused_kept_bytes(s) : statistics_bytes(s), {.dropped = core});
  sublayer_end_activations(w);
}

}  // namespace stepsim
