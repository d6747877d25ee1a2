// Steps small enough to work out on paper, for the tests of reports.
#pragma once

#include <string>
#include <utility>

#include "sim/report/report.hpp"

namespace stepsim::toy {

struct Example {
  StepGraph graph;
  Timeline timeline;
};

inline Op timed(OpKind kind, int stream, double seconds) {
  Op op;
  op.kind = kind;
  op.stream = static_cast<std::uint8_t>(stream);
  op.seconds = seconds;
  return op;
}

inline Op call(int stream, int slot, int pattern, double bytes) {
  Op op = timed(OpKind::transfer, stream, 0);
  op.payload_bytes = bytes;
  op.slot = static_cast<std::int16_t>(slot);
  op.pattern = static_cast<std::int16_t>(pattern);
  return op;
}

inline Part part(std::vector<Load> loads, double bytes_per_payload, double alpha = 0, double beta = 0) {
  return {.loads = std::move(loads), .bytes_per_payload = bytes_per_payload, .alpha = alpha, .beta = beta};
}

inline Program program(std::string name, int pipeline_rank, std::vector<Stream> streams, std::vector<Op> ops) {
  Program result;
  result.name = std::move(name);
  result.pipeline_rank = pipeline_rank;
  result.streams = std::move(streams);
  result.ops = std::move(ops);
  return result;
}

// Two ranks, ten events, T = 12 s. Wires: nvlink 100 B/s, infiniband 50 B/s a port.
//
//   s        0    1    2    3    4    5    6    7    8    9    10   11   12
//   rank 0   |forward 2|    |  backward 3  |
//     gather      | gather  |              |red |                            gather waits [0, 1]
//     send                                 |    send      |
//   rank 1                                                |  forward 3    |
//     gather |del.| gather  |              |red |                            reduce waits [3, 6]
//     receive                              |   receive    |                  posted at 0
inline Example two_ranks() {
  Example e;
  StepGraph& g = e.graph;
  g.tiers = {"nvlink", "infiniband"};
  g.labels = {"", "layer", "parameters", "gradients", "activations"};
  g.links = {{.name = "nv0", .capacity = 100, .tier = 0, .owner = 0},
             {.name = "ib0", .capacity = 50, .tier = 1, .owner = 0},
             {.name = "nv1", .capacity = 100, .tier = 0, .owner = 1},
             {.name = "ib1", .capacity = 50, .tier = 1, .owner = 1}};
  const Part half = part({{1, 1}, {3, 1}}, 0.5);
  const Part message = part({{0, 1}}, 1);
  g.groups = {
      {.name = "data 0-1",
       .dimension = Dimension::gather,
       .endpoints = {{0, 0}, {1, 0}},
       .patterns = {{"all_gather", "flat", {half}}, {"reduce_scatter", "flat", {half}}},
       .size = 2},
      {.name = "pipeline 0>1",
       .dimension = Dimension::pipeline,
       .endpoints = {{0, 1}, {1, 1}},
       .patterns = {{"point_to_point", "direct", {message}}},
       .size = 2},
  };
  const auto compute = [](double seconds, Phase phase, int stage, OpList after) {
    Op op = timed(OpKind::compute, 0, seconds);
    op.tags = {
        .phase = phase, .stage = static_cast<std::int16_t>(stage), .chunk = 0, .layer = 1, .microbatch = 0, .label = 1};
    op.work = {.flops = 10 * seconds, .model_flops = 10 * seconds, .compute_seconds = seconds, .hbm_seconds = 1};
    op.after = std::move(after);
    return op;
  };
  const auto gather = call(1, 0, 0, 200), reduce = call(1, 0, 1, 100), send = call(2, 1, 0, 300);
  const auto tagged = [](Op op, Dimension dimension, int label, OpList after) {
    op.tags.dimension = dimension;
    op.tags.label = label;
    op.after = std::move(after);
    return op;
  };
  const std::vector<Stream> streams{
      {"compute", Dimension::none}, {"gather", Dimension::gather}, {"pipeline", Dimension::pipeline}};
  g.programs = {program("first", 0, streams,
                        {compute(2, Phase::forward, 0, {}), tagged(gather, Dimension::gather, 2, {}),
                         compute(3, Phase::backward, 0, {1}), tagged(reduce, Dimension::reduce, 3, {2}),
                         tagged(send, Dimension::pipeline, 4, {2})}),
                program("second", 1, streams,
                        {timed(OpKind::delay, 1, 1), tagged(gather, Dimension::gather, 2, {}),
                         tagged(reduce, Dimension::reduce, 3, {}), tagged(send, Dimension::pipeline, 4, {}),
                         compute(3, Phase::forward, 1, {3})})};
  g.ranks = {{.program = 0, .slots = {0, 1}, .original = 0}, {.program = 1, .slots = {0, 1}, .original = 1}};
  e.timeline = {.end = 12,
                .spans = {{{0, 0, 2}, {0, 1, 3}, {3, 3, 6}, {6, 6, 7}, {6, 6, 9}},
                          {{0, 0, 1}, {1, 1, 3}, {3, 6, 7}, {0, 6, 9}, {9, 9, 12}}},
                .events = 10};
  return e;
}

inline InputNames names(const std::string& plan) {
  return {.experiment = plan,
          .model = "toy",
          .cluster = "two",
          .plan = plan,
          .scenario = "none",
          .schedule = "1f1b",
          .rates = "speed_of_light",
          .detail = "aggregate",
          .engine = "ideal",
          .overrides = {"plan.schedule=1f1b"},
          .gpus = 2,
          .nodes = 1,
          .parallelism = "PP2",
          .files = {{"model", "toy.yaml"}}};
}

inline StepFacts facts() {
  return {.tokens_per_step = 240,
          .model_flops_per_step = 60,
          .hardware_flops_per_step = 80,
          .peak_flops_per_gpu = 10,
          .flops_convention = "causal attention, recompute in HFU only, over the BF16 peak",
          .gpu_memory_bytes = 80e9,
          .memory = {{{"weights", 10e9}, {"activations", 50e9}}, {{"weights", 10e9}, {"activations", 20e9}}},
          .warnings = {"7.5 sequences a GPU"}};
}

inline Report example_report(const std::string& plan = "toy-pipeline") {
  const Example e = two_ranks();
  return analyse(e.graph, e.timeline, names(plan), facts());
}

}  // namespace stepsim::toy
