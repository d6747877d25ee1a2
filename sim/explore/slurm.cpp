#include "sim/explore/slurm.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>

#include "sim/base/errors.hpp"

namespace stepsim {
namespace {

std::string directives(const SlurmJob& job) {
  std::string text;
  const auto add = [&](const std::string& option) { text += "#SBATCH " + option + "\n"; };
  add(fmt::format("--job-name=stepsim-{}", job.name));
  add(fmt::format("--array=1-{}", job.shards));
  add("--nodes=1");
  add("--ntasks=1");
  add(fmt::format("--cpus-per-task={}", job.cpus));
  if (!job.time.empty()) add("--time=" + job.time);
  if (!job.memory.empty()) add("--mem=" + job.memory);
  add("--requeue");
  add("--open-mode=append");
  add(fmt::format("--output=\"{}/shard-%a.log\"", job.folder));
  for (const std::string& option : job.options) add(option);
  return text;
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@+%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shard_path(const SlurmJob& job, const std::string& index) { return fmt::format("{}/shard-{}.sqlite", job.folder, index); }

std::string script_of(const SlurmJob& job) {
  std::string command = shell_word(job.program);
  for (const std::string& argument : job.arguments) command += " " + shell_word(argument);
  return fmt::format(R"(#!/bin/bash
{directives}
export STEPSIM_HOME={home}
{command} --shard "$SLURM_ARRAY_TASK_ID/{shards}" --store {folder}/shard-"$SLURM_ARRAY_TASK_ID".sqlite --jobs "${{SLURM_CPUS_PER_TASK:-1}}"
code=$?
# 2: the input is wrong, and would be again.
if ((code != 0 && code != 2 && ${{SLURM_RESTART_COUNT:-0}} < {retries})); then
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}" && sleep 60
fi
exit $code
)",
                     fmt::arg("directives", directives(job)), fmt::arg("home", shell_word(job.home)), fmt::arg("command", command),
                     fmt::arg("shards", job.shards), fmt::arg("folder", shell_word(job.folder)), fmt::arg("retries", job.retries));
}

std::string submit(const std::string& script_path) {
  const std::string command = "sbatch --parsable " + shell_word(script_path) + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw InputError({{"", 0, "sbatch", "cannot be started"}});
  std::string said;
  char buffer[512];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) said.append(buffer, n);
  const int status = pclose(pipe);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw InputError({{script_path, 0, "sbatch", fmt::format("{}; --submit off only writes the script", said)}});
  }
  return said.substr(0, said.find(';'));  // "id;cluster"
}

}  // namespace stepsim
