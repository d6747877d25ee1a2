#!/usr/bin/env bash
# stepsim memory and stepsim model: what they print, their JSON and CSV, and what they refuse.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
configs=$STEPSIM_SOURCE_DIR/tests/data/configs

# says NAME 'text that must stand on standard output' ARGUMENTS...
says() {
  local name=$1 wanted=$2
  shift 2
  "$STEPSIM" "$@" >out 2>err || { echo "$name: exit $?"; cat err; ((++failures)); }
  if ! grep -qF -- "$wanted" out; then echo "$name: no \"$wanted\" in:"; cat out; ((++failures)); fi
  if (($(wc -L <out) > 100)); then echo "$name: a line is wider than 100 columns"; ((++failures)); fi
}
refused() {
  local name=$1 wanted=$2
  shift 2
  "$STEPSIM" "$@" >out 2>err
  (($? == 2)) || { echo "$name: not refused"; ((++failures)); }
  [[ -s out ]] && { echo "$name: standard output is not empty"; ((++failures)); }
  grep -qF -- "$wanted" err || { echo "$name: no \"$wanted\" in:"; cat err; ((++failures)); }
}

says "fits" "Fits: stage" memory deepseek-v3-dualpipe
says "parts" "Activations kept at that peak, by part" memory deepseek-v3-dualpipe
says "does not fit" "DOES NOT FIT: stage 0" memory deepseek-v3-zero3-flat
says "what would fit" "--set " memory deepseek-v3-zero3-flat
says "parts named one by one" "Fits: stage" memory --model deepseek-v3 --cluster h800-256x8 --plan deepseek-v3-1f1b
says "a config as the model" "Llama-3.1-405B" memory gpt-3-175b-pipeline --model "$configs/Llama-3.1-405B.json" \
  --set plan.stage_layers=auto --set plan.schedule=1f1b --set plan.parallel.virtual_stages=1

# A change it names, taken: the plan fits.
"$STEPSIM" memory deepseek-v3-zero3-flat --json json >out 2>err || { echo "json: exit $?"; ((++failures)); }
grep -q '"schema": "stepsim.memory/1"' json || { echo "json: no schema"; ((++failures)); }
set_=$(sed -n '/"fitting_changes"/,$p' json | grep -m1 '"plan\.' | sed -E 's/^ *"(.*)",?$/\1/')
[[ -n $set_ ]] || { echo "json: no change that fits"; ((++failures)); }

# CSV: kinds of a row sum to its peak.
"$STEPSIM" memory deepseek-v3-dualpipe --csv - >csv 2>err || { echo "csv: exit $?"; ((++failures)); }
awk -F, 'NR == 1 { for (i = 5; i <= NF && $i !~ /^activations_[a-z]+_/ ; ++i) last = i; next }
  { sum = 0; for (i = 5; i <= last; ++i) sum += $i; d = sum - $4; if (d < 0) d = -d; if (d > 1e-9 * $4) { print "row " NR ": " sum " is not " $4; bad = 1 } }
  END { if (NR != 17) { print NR " lines"; bad = 1 } exit bad }' csv || { echo "csv: wrong"; ((++failures)); }

says "parameters" "671,026,419,200" model deepseek-v3
says "a folder of a checkpoint" "Qwen3-8B" model "$configs/Qwen3-8B.json"
mkdir My-Model && cp "$configs/Qwen3-8B.json" My-Model/config.json
says "a checkpoint's folder" "My-Model" model ./My-Model
says "a wrapper" "text_config" model "$configs/gemma-3-27b-it.json"
"$STEPSIM" model "$configs/gpt-oss-120b.json" --yaml oss.yaml >out && says "the YAML reads" "116,829,156,672" model ./oss.yaml
refused "a plan's key" "only a model is read here" model deepseek-v3 --set plan.schedule=1f1b
printf '{"model_type": "mamba", "hidden_size": 64}' >mamba.json
refused "an unknown family" "it lacks num_hidden_layers" model ./mamba.json
refused "an unknown family in a step" "mamba.json:1: model_type" run deepseek-v3-1f1b --model ./mamba.json
refused "no such model" "did you mean deepseek-v3" model deepseek-v4
exit $((failures > 0))
