#!/usr/bin/env bash
# --html: one file that draws in a browser, without errors and without any request.
set -u
modules=$(dirname "$STEPSIM")/page/node_modules
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
fail() { echo "$*"; ((++failures)); }

if [[ ! -d $modules ]]; then  # built without npm: refused, before anything is simulated
  "$STEPSIM" run deepseek-v3-dualpipe --html page.html >out 2>err
  (($? == 2)) || fail "no refusal: $(cat err)"
  grep -qF "built without HTML reports" err || fail "no reason: $(cat err)"
  ((failures == 0)) || exit 1
  echo "skipped: this build has no HTML reports"
  exit 77
fi

small=(--set model.layers=8 --set cluster.nodes=8 --set plan.parallel.pipeline=4 --set plan.parallel.expert=16
       --set plan.parallel.data=auto --set plan.stage_layers=auto --set plan.batch.global_sequences=128)
"$STEPSIM" run deepseek-v3-dualpipe "${small[@]}" --html page.html >out 2>err || fail "run: exit $?: $(cat err)"
"$STEPSIM" compare deepseek-v3-dualpipe "${small[@]}" --vary plan.schedule=dualpipe,dualpipev --elasticities off --html both.html >out 2>err ||
  fail "compare: exit $?: $(cat err)"
printf '%s\n' 'name: points' 'experiment: gpt-3-175b-pipeline' \
  'set: {cluster.nodes: 1, model.layers: 4, plan.parallel.tensor: 4, plan.batch.global_sequences: 8}' \
  'product: {plan.parallel.pipeline: [1, 2], plan.parallel.zero: [0, 1], plan.batch.microbatch_sequences: [1, 2]}' >points.yaml
"$STEPSIM" sweep points.yaml >out 2>err && "$STEPSIM" results points.sqlite --html points.html >out 2>err || fail "results: exit $?: $(cat err)"
printf '%s\n' 'runs: 12' 'seed: 1' 'stragglers: {count: [0, 2], speed: [0.5, 0.9]}' 'links: [{match: "nic*_up", count: [0, 2], scale: [0.2, 1]}]' >days.yaml
"$STEPSIM" stress gpt-3-175b-pipeline --set cluster.nodes=2 --set model.layers=4 --set plan.parallel.pipeline=2 --set plan.batch.global_sequences=8 \
  --spec days.yaml --html days.html >out 2>err || fail "stress: exit $?: $(cat err)"
"$STEPSIM" validate "$STEPSIM_SOURCE_DIR/workloads/runs/published.csv" --filter 'family=Sim*' --html runs.html >out 2>err || fail "validate: exit $?: $(cat err)"
# Nothing of the page names a place to load from; licences and namespaces of the bundled library may name their home.
grep -oE '(src|href)="[^"]*"' page.html both.html points.html days.html runs.html && fail "the page loads something"
"$STEPSIM" run deepseek-v3-dualpipe --html - --json - >out 2>err && fail "two outputs on standard output"
((failures == 0)) || exit 1

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo "skipped: no chromium to look at the pages with"
  exit 77
}
node "$STEPSIM_SOURCE_DIR/tests/page/look.mjs" "$modules" "$chromium" page.html all || fail "page.html"
node "$STEPSIM_SOURCE_DIR/tests/page/look.mjs" "$modules" "$chromium" both.html wide || fail "both.html"
node "$STEPSIM_SOURCE_DIR/tests/page/look.mjs" "$modules" "$chromium" points.html results || fail "points.html"
node "$STEPSIM_SOURCE_DIR/tests/page/look.mjs" "$modules" "$chromium" days.html stress || fail "days.html"
node "$STEPSIM_SOURCE_DIR/tests/page/look.mjs" "$modules" "$chromium" runs.html validation || fail "runs.html"
exit $((failures > 0))
