#!/usr/bin/env bash
# A Slurm array of eight shards equals the local sweep row for row. The test starts a Slurm of one node by itself, with
# keys, ports and folders of its own, and stops it again. Skipped where slurm-wlm and munge are not installed.
set -euo pipefail
skip() { echo "SKIPPED: $1"; exit 77; }
fail() { echo "$1" >&2; tail -n 20 "$folder"/*.log "$folder"/shards/*.log >&2 2> /dev/null || true; exit 1; }
for program in slurmctld slurmd sbatch scontrol sinfo munged; do
  [[ -n $(PATH=$PATH:/usr/sbin:/sbin type -P "$program") ]] || skip "$program is missing (Debian: apt-get install slurm-wlm munge)"
done
[[ $(id -u) == 0 ]] || skip "slurmctld and slurmd of this test run as root"
export PATH=$PATH:/usr/sbin:/sbin STEPSIM_HOME=$STEPSIM_SOURCE_DIR

folder=$(mktemp -d)
started=()
stop() {
  [[ ${#started[@]} == 0 ]] || kill "${started[@]}" 2> /dev/null || true
  wait 2> /dev/null || true
  rm -rf "$folder"
}
trap stop EXIT
cd "$folder"
chmod 755 .
mkdir state spool munge
(umask 077 && head -c 1024 /dev/urandom > munge/key)
munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
  --log-file="$folder/munge.log" --seed-file="$folder/munge/seed" > munged.out 2>&1 &
started+=($!)
host=$(hostname -s)
read -r controller_port node_port < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(2)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])')
cat > slurm.conf <<CONF
ClusterName=stepsim
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller_port
SlurmdPort=$node_port
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf
for _ in $(seq 50); do [[ -S munge/socket ]] && break; sleep 0.1; done
[[ -S munge/socket ]] || skip "munged cannot be started: $(tail -n 1 munged.out munge.log 2> /dev/null | tr '\n' ' ')"
slurmctld -D -c > slurmctld.out 2>&1 &
started+=($!)
slurmd -D -N "$host" > slurmd.out 2>&1 &
started+=($!)
for _ in $(seq 100); do sinfo -h -o %t 2> /dev/null | grep -q idle && break; sleep 0.1; done
sinfo -h -o %t 2> /dev/null | grep -q idle || skip "Slurm cannot be started here: $(tail -n 1 slurmctld.log slurmd.log 2> /dev/null | tr '\n' ' ')"

cat > points.yaml <<'SPEC'
name: points
experiment: gpt-3-175b-pipeline
set: {cluster.nodes: 2, model.layers: 4, plan.parallel.pipeline: 2, plan.parallel.tensor: 4, plan.batch.global_sequences: 8}
product:
  plan.schedule: [1f1b, zb-h1, gpipe]
  plan.parallel.zero: [0, 1, 2]
  plan.batch.microbatch_sequences: [1, 2]
SPEC
table() { "$STEPSIM" results "$1" --columns position,label,ending,step_time_s,mfu,peak_memory_bytes,bubble_share --sort position --csv "$2" > /dev/null; }
same() { cmp -s "$1" "$2" || { diff "$1" "$2" >&2 || true; fail "$3"; }; }
"$STEPSIM" sweep points.yaml --store local.sqlite > /dev/null 2> local.log
table local.sqlite local.csv
[[ $(grep -c ",done," local.csv) == 18 ]] || fail "18 points, each simulated: $(cat local.csv)"

# As Slurm runs them.
"$STEPSIM" sweep points.yaml --executor slurm --shards 8 --folder shards --time 00:05:00 > submitted.txt
grep -q "submitted as job" submitted.txt || fail "not submitted: $(cat submitted.txt)"
job=$(sed -n 's/^submitted as job //p' submitted.txt)
for _ in $(seq 600); do [[ -z $(squeue -h -j "$job" 2> /dev/null) ]] && break; sleep 0.1; done
[[ -z $(squeue -h -j "$job" 2> /dev/null) ]] || fail "the array has not ended: $(squeue)"
[[ $(ls shards/shard-*.sqlite | wc -l) == 8 ]] || fail "eight tasks write eight files"
"$STEPSIM" sweep points.yaml --collect shards --store slurm.sqlite > /dev/null 2> collect.log
table slurm.sqlite slurm.csv
same local.csv slurm.csv "the array differs from the local sweep"

# A task that ends badly is queued again by Slurm itself, and goes on with its file.
mkdir retried
"$STEPSIM" sweep points.yaml --executor slurm --shards 1 --folder retried --submit off --retries 1 > /dev/null
grep -q "scontrol requeue" retried/job.sh || fail "failed tasks are not queued again"

# The same shards by hand and by GNU parallel.
shard() { "$STEPSIM" sweep points.yaml --shard "$1/8" --store "$2/$1.sqlite" --jobs 1 > /dev/null 2>&1; }
mkdir hand
for i in 1 2 3 4 5 6 7 8; do shard "$i" hand; done
"$STEPSIM" sweep points.yaml --collect hand --store hand.sqlite > /dev/null 2>&1
table hand.sqlite hand.csv
same local.csv hand.csv "shards by hand differ from the local sweep"
if type -P parallel > /dev/null && parallel --version 2> /dev/null | grep -q "GNU parallel"; then
  mkdir gnu
  parallel -j 2 "$STEPSIM" sweep points.yaml --shard {}/8 --store gnu/{}.sqlite --jobs 1 ::: 1 2 3 4 5 6 7 8 > /dev/null 2>&1
  "$STEPSIM" sweep points.yaml --collect gnu --store gnu.sqlite > /dev/null 2>&1
  table gnu.sqlite gnu.csv
  same local.csv gnu.csv "shards by GNU parallel differ from the local sweep"
fi
