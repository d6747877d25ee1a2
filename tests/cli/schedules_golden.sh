#!/usr/bin/env bash
# All schedules for one 16-stage model on equal devices and batch: the table of tests/golden/schedules.txt. Goldens only
# notice change; what is right is held by tests/exact. `--write` makes the file anew.
set -eu
cd "$STEPSIM_SOURCE_DIR"
table() {
  common=(gpt-3-175b-pipeline --set cluster.nodes=16 --elasticities off)
  echo "GPT-3 175B, 16 nodes of 8 H800s, TP8 x PP16, 64 microbatches of one sequence; percent of the step, mean of all GPUs."
  "$STEPSIM" schedule gpt-3-175b-pipeline --set cluster.nodes=16 --times real | sed -n 2p
  "$STEPSIM" compare "${common[@]}" --vary plan.schedule=gpipe,1f1b,zb-h1,zb-h2,zb-v,zb-v-half,zb-v-min,dualpipe,dualpipev,automatic 2>/dev/null | sed -n 1,11p
  "$STEPSIM" compare "${common[@]}" --set plan.parallel.virtual_stages=2 --vary plan.schedule=interleaved-1f1b,breadth-first 2>/dev/null | sed -n 2,3p
}
if [[ ${1:-} == --write ]]; then
  table >tests/golden/schedules.txt
  exit
fi
table | diff - tests/golden/schedules.txt
