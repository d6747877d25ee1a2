#!/usr/bin/env bash
# Bad input: exit 2 with every reason on standard error, nothing on standard output, nothing half-written, no crash.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0

# refused NAME 'text that must stand on standard error' ARGUMENTS...
refused() {
  local name=$1 wanted=$2
  shift 2
  "$STEPSIM" "$@" >out 2>err
  local code=$?
  if ((code != 2)); then echo "$name: exit $code instead of 2"; cat err; ((++failures)); fi
  if [[ -s out ]]; then echo "$name: standard output is not empty"; ((++failures)); fi
  if ! grep -qF -- "$wanted" err; then echo "$name: no \"$wanted\" in:"; cat err; ((++failures)); fi
}

shipped=$STEPSIM_SOURCE_DIR/workloads
: >empty.yaml
printf 'name: x\nmodel: [1,\n' >syntax.yaml
refused "empty file" "empty.yaml" run ./empty.yaml
refused "syntax error" "syntax.yaml:" run ./syntax.yaml
refused "no such experiment" "deepseek-v3-dualpipe" run deepseek-v3-dualpip
refused "no such file" "nowhere.yaml" run ./nowhere.yaml
refused "nothing named" "model" run

sed 's/schedule:/shedule:/' "$shipped/plans/deepseek-v3-1f1b.yaml" >misspelt.yaml
refused "misspelt key" "schedule" run deepseek-v3-1f1b --plan ./misspelt.yaml
refused "misspelt key has its line" "misspelt.yaml:$(grep -n 'shedule:' misspelt.yaml | cut -d: -f1)" check deepseek-v3-1f1b --plan ./misspelt.yaml
refused "pipeline 7" "parallel.pipeline" run deepseek-v3-1f1b --set plan.parallel.pipeline=7
refused "expert 3" "parallel.expert" run deepseek-v3-1f1b --set plan.parallel.expert=3
refused "both at once" "parallel.expert" run deepseek-v3-1f1b --set plan.parallel.pipeline=7 --set plan.parallel.expert=3
grep -qF "parallel.pipeline" err || { echo "both at once: the other one is missing"; ((++failures)); }
refused "unknown key" "plan.nonsense" run deepseek-v3-1f1b --set plan.nonsense=1
refused "unknown document" "plans" run deepseek-v3-1f1b --set plans.schedule=1f1b
refused "NVLS in shard groups of two" "nvls cannot serve the" run deepseek-v3-zero3-ep64 --set cluster.nodes=2 --set model.layers=4 \
  --set plan.parallel.expert=4 --set plan.parallel.zero_group=node --set plan.collectives.all_gather=nvls --set plan.batch.global_sequences=128
refused "no time to find a plan" "time was over" search gpt-3-175b-pipeline --set cluster.nodes=16 --minutes 0.00001
refused "no number of minutes" "--minutes" search gpt-3-175b-pipeline --minutes nan
refused "two settings behind one --set" "each with a --set of its own" run --model gpt-3-175b --set model.layers=4 plan.rates=calibrated
refused "unknown schedule" "1f1b" run deepseek-v3-1f1b --set plan.schedule=1f1

cluster=$STEPSIM_SOURCE_DIR/platforms/h800-256x8.yaml
sed 's/platform:.*/platform: missing.xml/' "$cluster" >missing.yaml
refused "missing platform" "missing.xml" run deepseek-v3-1f1b --cluster ./missing.yaml
sed "s|platform: *|platform: $STEPSIM_SOURCE_DIR/platforms/|; s|gpu: *|gpu: $STEPSIM_SOURCE_DIR/platforms/|; s/nodes: 256/nodes: 512/" "$cluster" >hosts.yaml
refused "platform lacks hosts" "nic2048" run deepseek-v3-1f1b --cluster ./hosts.yaml
sed 's/bw="[0-9.]*GBps"/bw="-50GBps"/' "$STEPSIM_SOURCE_DIR/platforms/h800-256x8.xml" >negative.xml
sed "s|platform: .*|platform: negative.xml|; s|gpu: *|gpu: $STEPSIM_SOURCE_DIR/platforms/|" "$cluster" >negative.yaml
refused "negative bandwidth" "-50GBps" run deepseek-v3-1f1b --cluster ./negative.yaml

refused "unwritable output" "no/such/folder" run deepseek-v3-1f1b --json no/such/folder/out.json
refused "two on standard output" "--csv" run deepseek-v3-1f1b --json - --csv -
refused "the same file twice" "is already written by" run deepseek-v3-1f1b --json same --csv ./same
cp "$shipped/plans/gpt-3-175b-tp8-pp16.yaml" plan.yaml
refused "an output over an input" "is an input of this command" run gpt-3-175b-pipeline --set cluster.nodes=16 --plan ./plan.yaml --elasticities off --csv plan.yaml
cmp -s plan.yaml "$shipped/plans/gpt-3-175b-tp8-pp16.yaml" || { echo "an output over an input: it was written"; ((++failures)); }
refused "a time without end" "is more than 1000000000s" run deepseek-v3-1f1b --set cluster.gpu.rates.speed_of_light.launch_gap=1e305s
refused "a wire that does not move" "is less than 1Bps" run deepseek-v3-1f1b --set cluster.port_bandwidth.infiniband=1e-9Bps
refused "set and varied" "varied or set already" compare deepseek-v3-1f1b --set plan.schedule=1f1b --vary plan.schedule=gpipe
refused "varied twice" "varied or set already" compare deepseek-v3-1f1b --vary plan.schedule=gpipe --vary plan.schedule=1f1b
printf 'name: x\nlinks: [{match: "nic*", flap: {period: 0s, duty: 0.5}, until: 1s}]\n' >flap.yaml
refused "no period" "more than zero" check deepseek-v3-1f1b --scenario ./flap.yaml
printf 'name: x\nlinks: [{match: "nic*", flap: {period: 10ms, duty: 0.5}, until: 400s}]\n' >flap.yaml
refused "too many flaps" "are simulated" check deepseek-v3-1f1b --scenario ./flap.yaml
printf 'name: x\nruns: 2\nseed: 1\nstragglers: {count: 1, speed: 0.5}\ngrid: {stragglers.speed: [0], stragglers.count: [100]}\n' >grid.yaml
refused "a grid's values" "grid.stragglers.speed: 0 is not between" stress gpt-3-175b-pipeline --set cluster.nodes=2 --set plan.parallel.pipeline=2 --set model.layers=8 --spec grid.yaml
for period in 0s 1ns; do
  printf 'name: x\nruns: 2\nseed: 1\nlinks: [{match: "nic*", count: 1, down: {lasts: 10s, period: %s, duty: 0.5}}]\n' $period >flaps.yaml
  refused "a stress that flaps each $period" "flaps.yaml:4" stress gpt-3-175b-pipeline --set cluster.nodes=16 --spec flaps.yaml
done
printf 'name: x\nexperiment: gpt-3-175b-pipeline\nproduct: {plan.schedule: [1f1b, zb-h1]}\n' >varies.yaml
refused "set and swept" "the sweep varies it" sweep ./varies.yaml --set plan.schedule=gpipe --store x.sqlite
refused "a key that no point has" "plan.nope" sweep varies.yaml --list --set plan.nope=3
refused "a shard that is none" "1 <= I <= N" sweep varies.yaml --list --shard 9/3
refused "a wire that is none" "the keys here are nvlink, infiniband" run gpt-3-175b-pipeline --set cluster.port_bandwidth.nope=25GBps
printf 'name: small\nexperiment: gpt-3-175b-pipeline\nset: {cluster.nodes: 2, model.layers: 2, plan.parallel.pipeline: 2}\nproduct: {plan.parallel.zero: [0, 1]}\n' >small.yaml
"$STEPSIM" sweep small.yaml --store small.sqlite >/dev/null 2>err || { cat err; ((++failures)); }
[[ $("$STEPSIM" sweep small.yaml --list --shard 2/2 | tail -1) == "1 of 2 points" ]] || { echo "the list of a shard"; ((++failures)); }
refused "a store collected into itself" "is the store itself" sweep small.yaml --collect small.sqlite --store ./small.sqlite
refused "a sweep that the store has not" "it has small" results small.sqlite --sweep nosuch
refused "a negative limit" "not in range 0 to" results small.sqlite --limit -1
refused "a cap below what idles" "cluster.gpu.power.cap" run gpt-3-175b-pipeline --set cluster.gpu.power.cap=10W
refused "more nodes than the platform has" "cluster.nodes: 257 nodes" run gpt-3-175b-pipeline --set cluster.nodes=257
refused "a schedule that is none" "no schedule" search gpt-3-175b-pipeline --vary plan.schedule=1f1b,nope
printf 'name: none\nexperiment: gpt-3-175b-pipeline\nproduct: {plan.parallel.pipeline: [3, 5]}\n' >none.yaml
refused "a sweep of which nothing runs" "every point is refused" sweep none.yaml --store none.sqlite
"$STEPSIM" sweep none.yaml --shard 1/2 >/dev/null 2>&1 || { echo "a shard of which nothing runs: exit $?"; ((++failures)); }
refused "a folder for a store" "is a folder" results .
mkdir a-folder
refused "output is a folder" "a-folder" run deepseek-v3-1f1b --trace a-folder
refused "unknown option" "--nonsense" run deepseek-v3-1f1b --nonsense
refused "unknown engine" "warp" run deepseek-v3-1f1b --engine warp
refused "no verb" "subcommand" --set x
left=$(find . -name '*.part*' -o -name 'out.json' | head -3)
[[ -z $left ]] || { echo "left behind: $left"; ((++failures)); }

# A plan that does not fit is simulated all the same, and the report leads with it.
"$STEPSIM" run deepseek-v3-zero3-flat --elasticities off >out 2>err || { echo "overflow: exit $?"; ((++failures)); }
head -1 out | grep -q "DOES NOT FIT" || { echo "overflow is not reported first"; head -3 out; ((++failures)); }
exit $((failures > 0))
