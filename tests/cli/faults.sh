#!/usr/bin/env bash
# Scenarios from the command line: what cannot finish ends with exit code 2 and names; each shipped scenario runs and
# changes the step; folding is explained.
set -eu
cd "$STEPSIM_SOURCE_DIR"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
fail() {
  echo "$1"
  failed=1
}
small=(deepseek-v3-1f1b --set cluster.nodes=8 --set model.layers=12 --set plan.parallel.pipeline=4
  --set plan.parallel.expert=16 --set plan.batch.global_sequences=128 --elasticities off)

step_time() { sed -n 's/^  "step_time_s": \(.*\),$/\1/p' "$1"; }

"$STEPSIM" run "${small[@]}" --json "$folder/usual.json" >"$folder/usual.txt"

# A link of a node that the job does not have: said, and without effect.
printf '%s\n' 'name: elsewhere' 'links: [{match: "nic1617_*", scale: 0.1}]' >"$folder/elsewhere.yaml"
"$STEPSIM" run "${small[@]}" --scenario "$folder/elsewhere.yaml" >"$folder/elsewhere.txt" || fail "elsewhere: exit code $?"
grep -q "matches only links of nodes" "$folder/elsewhere.txt" || fail "a link elsewhere is not named"

# At their times all of them change a step of this length.
at_once=(--set 'scenario.links=[{match: "nic17_*", down_at: 100ms, failover: nvlink, failover_delay: 50ms}]')
for scenario in one-straggler slow-rail dead-nic hot-gpu flapping-link noisy; do
  extra=()
  [[ $scenario == dead-nic ]] && extra=("${at_once[@]}")
  [[ $scenario == hot-gpu ]] && extra=(--set 'scenario.stragglers=[{ranks: [12], speed: 0.7, from: 100ms, until: 400ms}]')
  [[ $scenario == flapping-link ]] && extra=(--set 'scenario.links=[{match: "nic40_*", flap: {period: 100ms, duty: 0.9}, until: 10m}]')
  "$STEPSIM" run "${small[@]}" --scenario "$scenario" "${extra[@]}" --json "$folder/$scenario.json" >"$folder/$scenario.txt" ||
    fail "$scenario: exit code $?"
  [[ $(step_time "$folder/$scenario.json") != "$(step_time "$folder/usual.json")" ]] || fail "$scenario changes nothing"
done
grep -q 'Who waits for whom' "$folder/one-straggler.txt" || fail "nobody waits for a straggler"
grep -qE '^ +5 +1 +0 +0.8 ' "$folder/one-straggler.txt" || fail "the straggler is not named"
grep -q 'nothing was folded' "$folder/noisy.txt" || fail "jitter does not say that nothing was folded"

# A dead link without an alternative.
cat >"$folder/dead.yaml" <<'YAML'
links: [{match: "nic17_*", down_at: 100ms}]
YAML
for engine in simgrid ideal; do
  code=0
  "$STEPSIM" run "${small[@]}" --scenario "$folder/dead.yaml" --engine "$engine" >"$folder/out" 2>"$folder/err" || code=$?
  [[ $code == 2 ]] || fail "$engine: a dead link ends with exit code $code"
  [[ -s $folder/out ]] && fail "$engine: a report of a step that cannot finish"
  grep -q 'the step cannot finish' "$folder/err" || fail "$engine: $(cat "$folder/err")"
  grep -q 'nic17_.* is down since 0.1 s' "$folder/err" || fail "$engine: the link is not named"
  grep -q 'rank 17 op .* in group ' "$folder/err" || fail "$engine: the call is not named"
done
code=0
"$STEPSIM" run "${small[@]}" --scenario "$folder/dead.yaml" --detail formula >/dev/null 2>"$folder/err" || code=$?
[[ $code == 2 ]] && grep -q 'detail formula cannot see' "$folder/err" || fail "detail formula hides a dead link"

# Folding, explained.
"$STEPSIM" run "${small[@]}" --scenario one-straggler --explain-folding >"$folder/folding.txt"
grep -q '^Folding: 64 ranks of ' "$folder/folding.txt" || fail "no count of kinds"
grep -q 'rank 5, unlike rank 0: has speed 0.8, not 1' "$folder/folding.txt" || fail "the straggler's reason is missing"
awk 'length > 100 { print "too wide: " $0; exit 1 }' "$folder/folding.txt" || failed=1
"$STEPSIM" run "${small[@]}" --explain-folding --json - 2>"$folder/err" >"$folder/out"
grep -q '^Folding: ' "$folder/err" || fail "beside a document on standard output the explanation is lost"
grep -q '^Folding: ' "$folder/out" && fail "the explanation spoils a document"
exit $failed
