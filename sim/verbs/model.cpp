// stepsim model: parameters and FLOPs of a model, and its YAML.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/table.hpp"
#include "sim/report/words.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/verb.hpp"
#include "workloads/experiment.hpp"
#include "workloads/layers.hpp"

namespace stepsim {
namespace verb_model {

struct Arguments {
  InputArguments inputs;
  OutputArguments outputs;
  int sequence_length = 4096;
};

struct Part {
  std::string name;
  double parameters;
};

std::vector<Part> parts_of(const ParameterCount& c) {
  std::vector<Part> parts{{"embedding", c.embedding},           {"head", c.head},
                          {"positions", c.positions},           {"attention", c.attention},
                          {"dense_ffn", c.dense_ffn},           {"router", c.router},
                          {"routed_experts", c.routed_experts}, {"shared_experts", c.shared_experts},
                          {"norms", c.norms},                   {"routing_bias", c.routing_bias},
                          {"biases", c.biases}};
  std::erase_if(parts, [](const Part& part) { return part.parameters == 0; });
  return parts;
}

std::string whole(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string to_text(const ModelSpec& model, int length, const std::vector<std::string>& notes) {
  const ParameterCount count = count_parameters(model);
  Table table({{"part", true}, {"parameters"}, {"share"}});
  for (const Part& part : parts_of(count)) {
    table.row({part.name, whole(part.parameters), percent_text(part.parameters / count.total())});
  }
  table.row({"all", whole(count.total()), ""});
  table.row({"active a token", whole(count.active), percent_text(count.active / count.total())});
  if (count.prediction > 0) table.row({"multi-token prediction, beside", whole(count.prediction), ""});
  const double forward = forward_flops_per_token(model, length);
  std::string text = model.name + "\n" + table.text();
  text += wrap(fmt::format("  FLOPs a token at {} tokens a sequence: forward {}, forward and backward {} (causal attention)",
                           number_text(length), quantity_text(forward), quantity_text(3 * forward)),
               page_width, 4) +
          "\n";
  for (const std::string& note : notes) text += wrap("  - " + note, page_width, 4) + "\n";
  return text;
}

std::string to_json(const ModelSpec& model, int length, const std::vector<std::string>& notes) {
  const ParameterCount count = count_parameters(model);
  nlohmann::ordered_json parts = nlohmann::ordered_json::object();
  for (const Part& part : parts_of(count)) parts[part.name] = part.parameters;
  const double forward = forward_flops_per_token(model, length);
  const nlohmann::ordered_json json = {{"schema", "stepsim.model/1"},
                                       {"name", model.name},
                                       {"parameters", count.total()},
                                       {"active_parameters", count.active},
                                       {"active_parameters_without_embedding", count.active_without_embedding},
                                       {"prediction_parameters", count.prediction},
                                       {"parts", std::move(parts)},
                                       {"sequence_length", length},
                                       {"forward_flops_per_token", forward},
                                       {"training_flops_per_token", 3 * forward},
                                       {"notes", notes}};
  return json.dump(2) + "\n";
}

int run(const Arguments& args, const std::string& program) {
  args.outputs.require_writable();
  const Request request = args.inputs.complete(program);
  Reading reading;
  std::string reason;
  const auto path = locate(request.home, Document::model, request.experiment, ".", reason);
  if (!path) throw InputError({{"", 0, "model", reason}});
  const Overrides overrides = split_overrides(reading, request.overrides);
  for (const auto* others : {&overrides.cluster, &overrides.plan, &overrides.scenario}) {
    for (const Override& other : *others) {
      reading.problems.push_back({"--set", 0, other.key, "only a model is read here; write model.KEY=VALUE"});
    }
  }
  const ModelSpec model = read_model(reading, *path, overrides.model);
  reading.throw_if_any();
  args.outputs.write("--yaml", [&] { return to_yaml(model); });
  args.outputs.write("--json", [&] { return to_json(model, args.sequence_length, reading.notes); });
  if (!args.outputs.wants_standard_output()) write_output("-", to_text(model, args.sequence_length, reading.notes));
  return 0;
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  verb.add_option("model", args->inputs.request.experiment,
                  "a model's YAML, a Hugging Face config.json or its folder, or a shipped name")
      ->required();
  args->inputs.declare_set(verb);
  verb.add_option("--sequence-length", args->sequence_length, "tokens a sequence, for the FLOPs of attention")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  args->outputs.declare(verb, "--yaml", "write the model as stepsim's YAML to this file (-: standard output)");
  args->outputs.declare(verb, "--json", "write the numbers as JSON");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_model

Verb model_verb() { return {"model", "parameters and FLOPs of a model, without a cluster or a plan", verb_model::declare}; }

}  // namespace stepsim
