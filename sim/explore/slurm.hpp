// A sweep as a job array of a Slurm cluster: each task runs one shard into a file of its own on the shared file system.
// Requeueing is Slurm's: after a node fails (--requeue), and after a task that did not end well (scontrol requeue, at most
// `retries` times). A shard that starts again continues with what its file has.
#pragma once

#include <string>
#include <vector>

namespace stepsim {

struct SlurmJob {
  std::string name;                    // of the sweep
  std::string program, home, folder;   // absolute; the folder is for script, logs and shards
  std::vector<std::string> arguments;  // of every shard: "sweep", the spec, ...; --shard, --store and --jobs are added
  int shards = 1;
  int cpus = 1;               // of a task
  std::string time, memory;   // of a task, in Slurm's words; empty: the cluster's default
  std::vector<std::string> options;  // more lines: "--partition=long"
  int retries = 2;
};

// The batch script.
std::string script_of(const SlurmJob& job);
std::string shard_path(const SlurmJob& job, const std::string& index);

// Gives the script to sbatch; the job's id. Throws InputError with what sbatch says.
std::string submit(const std::string& script_path);

// 'word', so that a shell takes it as it is.
std::string shell_word(const std::string& word);

}  // namespace stepsim
