#!/usr/bin/env bash
# stepsim schedule: what it prints and writes, from an experiment and from a plan by itself; what it refuses.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
fail() { echo "$*"; ((++failures)); }

cat >tiny.yaml <<'YAML'
name: tiny
parallel: {pipeline: 2, data: 1}
batch: {global_sequences: 3, sequence_length: 16}
YAML

# A plan by itself. 1F1B of 3 microbatches on 2 ranks: 3 (F + B) and a bubble of F + B: 12 slots, 3 of them idle.
"$STEPSIM" schedule ./tiny.yaml >text 2>err || fail "plan alone: exit $?: $(cat err)"
cat >wanted <<'TEXT'
tiny: 1f1b; 2 ranks, 2 stages, 3 microbatches
F = I = W = 1 slot, B = 2, messages take no time
12 slots, bubble 25.0 % of them; a rank holds at most 2 activations of one microbatch in a stage

rank 0 F0 F1 .  .  B0 -  F2 B1 -  .  B2 -
rank 1 .  F0 B0 -  F1 B1 -  F2 B2 -  .  .
TEXT
diff wanted text || fail "text"

# What --csv writes is read back as plan.schedule, relative to the plan's file, and is the same schedule.
mkdir plans
"$STEPSIM" schedule --plan ./tiny.yaml --csv - >plans/own.csv || fail "--csv -"
printf '0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n' | diff - plans/own.csv || fail "CSV"
{ cat tiny.yaml; echo "schedule: own.csv"; } >plans/mine.yaml
"$STEPSIM" schedule plans/mine.yaml --csv again.csv --svg own.svg >text || fail "own schedule"
cmp again.csv plans/own.csv || fail "a schedule read back from its CSV"
head -1 text | grep -qF "tiny: plans/own.csv; 2 ranks" || fail "the file is named: $(head -1 text)"
head -c 300 own.svg | grep -q "<svg" || fail "SVG"
(cd plans && "$STEPSIM" schedule mine.yaml --csv - | cmp - own.csv) || fail "beside the plan's file"
"$STEPSIM" schedule ./tiny.yaml --set plan.schedule=plans/own.csv --csv - | cmp - plans/own.csv || fail "--set: from the current folder"

# An experiment, with times; its passes are what its run simulates.
"$STEPSIM" schedule deepseek-v3-1f1b --times real >text || fail "experiment"
head -1 text | grep -qF "deepseek-v3-1f1b: 1f1b; 16 ranks, 16 stages, 120 microbatches" || fail "experiment: $(head -1 text)"
awk 'length > 100' text | grep -q . && fail "wide lines"
"$STEPSIM" schedule deepseek-v3-1f1b --csv own.csv >/dev/null || fail "--csv of an experiment"
by_name=$("$STEPSIM" run deepseek-v3-1f1b --elasticities off --json - | grep '"step_time_s"')
by_file=$("$STEPSIM" run deepseek-v3-1f1b --set plan.schedule=own.csv --elasticities off --json - | grep '"step_time_s"')
[[ -n $by_name && $by_name == "$by_file" ]] || fail "name: $by_name, file: $by_file"
"$STEPSIM" list schedules | grep -q '^automatic ' || fail "automatic is not listed"

# refused NAME 'text on standard error' ARGUMENTS...
refused() {
  local name=$1 wanted=$2
  shift 2
  "$STEPSIM" "$@" >out 2>err
  local code=$?
  ((code == 2)) || fail "$name: exit $code: $(cat err)"
  [[ ! -s out ]] || fail "$name: standard output is not empty"
  grep -qF -- "$wanted" err || fail "$name: no \"$wanted\" in: $(cat err)"
}
printf '0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n' >plans/own.csv
refused "deadlock" "plans/own.csv:1: deadlock: rank 0 cannot start B of microbatch 0" schedule plans/mine.yaml
printf '0F0,0B0\n1F0,1B0,what\n' >plans/own.csv
refused "no action" 'plans/own.csv:2: "what" is no action' schedule plans/mine.yaml
rm plans/own.csv
refused "no file" "plans/mine.yaml:4: schedule: there is no file plans/own.csv" schedule plans/mine.yaml
refused "real times of a plan alone" "name --model and --cluster too" schedule ./tiny.yaml --times real
refused "automatic of a plan alone" "needs pass times and memory" schedule ./tiny.yaml --set plan.schedule=automatic
refused "data: auto" "leaves open how many microbatches" schedule ./tiny.yaml --set plan.parallel.data=auto
refused "half a microbatch" "makes 1.5 microbatches" schedule ./tiny.yaml --set plan.parallel.data=2
refused "unknown schedule" "no schedule" schedule ./tiny.yaml --set plan.schedule=1f2b
refused "shape" "microbatches on 2 pipeline ranks" schedule ./tiny.yaml --set plan.schedule=dualpipe
refused "nothing named" "not given" schedule
exit $((failures > 0))
