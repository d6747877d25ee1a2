#!/usr/bin/env bash
# A sweep runs, resumes, survives being killed, and is the same in shards; its results can be filtered.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export STEPSIM_HOME=$STEPSIM_SOURCE_DIR
cd "$folder"
fail() { echo "$1" >&2; exit 1; }
same() { cmp -s "$1" "$2" || { diff "$1" "$2" >&2 || true; fail "$3"; }; }
table() { "$STEPSIM" results "$1" --columns label,step_time_s --sort label --csv "$2" > /dev/null; }

cat > points.yaml <<'END'
name: points
experiment: gpt-3-175b-pipeline
set: {cluster.nodes: 2, model.layers: 4, plan.parallel.pipeline: 2, plan.parallel.tensor: 4, plan.batch.global_sequences: 8}
product:
  plan.schedule: [1f1b, zb-h1, gpipe]
  plan.parallel.zero: [0, 1]
  plan.batch.microbatch_sequences: {from: 1, to: 2, step: 1}
filter: plan.batch.microbatch_sequences + plan.parallel.zero <= 2
END

"$STEPSIM" sweep points.yaml --list > list.txt
grep -q "^9 points; the filter drops 3" list.txt || fail "the product has 12 points, the filter drops 3: $(tail -1 list.txt)"

"$STEPSIM" sweep points.yaml --store whole.sqlite --jobs 2 > /dev/null 2> first.log
grep -q "9 points: 9 simulated now, 0 known" first.log || fail "not all points were simulated: $(tail -1 first.log)"
table whole.sqlite whole.csv
[[ $(wc -l < whole.csv) == 10 ]] || fail "a row a point"

# A point is a run of its own.
"$STEPSIM" run gpt-3-175b-pipeline --set cluster.nodes=2 --set model.layers=4 --set plan.parallel.pipeline=2 --set plan.parallel.tensor=4 \
  --set plan.batch.global_sequences=8 --set plan.schedule=zb-h1 --set plan.parallel.zero=1 --elasticities off --json run.json
step=$(python3 -c 'import json; print(json.load(open("run.json"))["step_time_s"])')
python3 - "$step" <<'END' || fail "a point differs from its run"
import csv, sys
rows = {r["label"]: float(r["step_time_s"]) for r in csv.DictReader(open("whole.csv"))}
sys.exit(0 if abs(rows["zb-h1/1/1"] / float(sys.argv[1]) - 1) < 1e-12 else 1)
END

"$STEPSIM" sweep points.yaml --store whole.sqlite > /dev/null 2> again.log
grep -q "9 points: 0 simulated now, 9 known" again.log || fail "known points were simulated again: $(tail -1 again.log)"

# A checkpoint's folder as the model, in an experiment of its own; what breaks is said, and the exit code tells.
mkdir llama
cat > llama/config.json <<'END'
{"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 8,
 "num_key_value_heads": 8, "vocab_size": 32000, "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "max_position_embeddings": 4096}
END
printf '%s\n' 'name: own' 'model: ./llama' 'cluster: h800-256x8' 'plan: gpt-3-175b-tp8-pp8' > own.yaml
cat > folders.yaml <<'END'
name: folders
experiment: ./own.yaml
set: {cluster.nodes: 2, plan.parallel.pipeline: 2, plan.parallel.virtual_stages: 1, plan.schedule: 1f1b, plan.batch.global_sequences: 8, plan.parallel.tensor: 4}
product: {plan.parallel.zero: [0, 1]}
END
"$STEPSIM" sweep folders.yaml > /dev/null 2> folders.log || fail "a model that is a folder: $(tail -2 folders.log)"
grep -q "2 points: 2 simulated now, 0 known, 0 refused, 0 failed" folders.log || fail "a model that is a folder: $(tail -1 folders.log)"

# Killed at several moments, then resumed: the same table.
for after in 0.1 0.2 0.3 0.45 0.6; do
  timeout -s KILL "$after" "$STEPSIM" sweep points.yaml --store killed.sqlite --jobs 1 > /dev/null 2>&1 || true
done
"$STEPSIM" sweep points.yaml --store killed.sqlite > /dev/null 2>&1
table killed.sqlite killed.csv
same whole.csv killed.csv "a killed and resumed sweep differs"

# Memory does not grow with the number of points. (Under the address sanitizer freed memory is kept for a while.)
cat > tiny.yaml <<'SPEC'
name: tiny
experiment: gpt-3-175b-pipeline
set: {cluster.nodes: 1, model.layers: 2, plan.parallel.pipeline: 1, plan.batch.global_sequences: 1}
product: {plan.batch.sequence_length: {from: 128, to: 1024, step: 8}, plan.parallel.tensor: [2, 4, 8]}
SPEC
"$STEPSIM" sweep tiny.yaml --list > tiny.txt
grep -q "^339 points" tiny.txt || fail "113 lengths x 3: $(tail -1 tiny.txt)"
if ! ldd "$STEPSIM" | grep -q libasan; then
  python3 - "$STEPSIM" <<'PY' || fail "memory grows with the number of points"
import resource, subprocess, sys
def peak(arguments):
    subprocess.run([sys.argv[1], "sweep", "tiny.yaml", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
few = peak(["--shard", "1/16", "--store", "few.sqlite"])
many = peak(["--store", "many.sqlite"])
sys.exit(0 if many < 1.1 * few + 8000 else f"{few} KB for 22 points, {many} KB for 339")
PY
fi

# In shards, collected twice: the same table.
"$STEPSIM" sweep points.yaml --shard 1/2 --store part1.sqlite > /dev/null 2>&1
"$STEPSIM" sweep points.yaml --shard 2/2 --store part2.sqlite > /dev/null 2>&1
for _ in once twice; do
  "$STEPSIM" sweep points.yaml --store merged.sqlite --collect part1.sqlite part2.sqlite > /dev/null 2>&1
done
table merged.sqlite merged.csv
same whole.csv merged.csv "shards differ from the whole"

# Plans that do not fit in memory stand behind those that do, however fast.
"$STEPSIM" sweep points.yaml --store small.sqlite --set cluster.gpu.memory=16GB > small.txt 2> /dev/null
awk '/^  point/ {table = 1; next} /^$/ {table = 0} table {print / ! /}' small.txt > fits.txt
sort -c -n fits.txt || fail "a plan that does not fit stands before one that does: $(cat small.txt)"
[[ $(sort -u fits.txt | wc -l) == 2 ]] || fail "of these points some fit and some do not: $(cat small.txt)"

# The page of a store holds its points.
if "$STEPSIM" results whole.sqlite --html page.html > /dev/null 2> page.log; then
  grep -q 'data-view="results"' page.html || fail "the page has no view"
  grep -q '"label":"zb-h1/1/1"' page.html || fail "the page has no points"
else
  grep -q "built without HTML" page.log || fail "no page: $(cat page.log)"
fi

# Refused points are rows; a wrong spec is refused with its key.
"$STEPSIM" results whole.sqlite --where "step_time_s > 1e9" --columns label --csv none.csv > /dev/null
[[ $(wc -l < none.csv) == 1 ]] || fail "the condition let rows pass"
# What is wrong with a question is said of its option.
asked_wrongly() {  # text arguments...
  local text=$1 status=0
  shift
  "$STEPSIM" results whole.sqlite "$@" > /dev/null 2> asked.log || status=$?
  [[ $status == 2 ]] && grep -qF -- "$text" asked.log || fail "$* (exit $status): $(cat asked.log)"
}
asked_wrongly "--where: there is no column plan.shedule; did you mean plan.schedule?" --where 'plan.shedule = "1f1b"'
asked_wrongly '--where: "fits andd fits" is no condition: near "andd": syntax error' --where 'fits andd fits'
asked_wrongly '--where: "fits; drop table points" is no condition' --where 'fits; drop table points'
asked_wrongly "--columns: there is no column step_tim_s; did you mean step_time_s?" --columns label,step_tim_s
asked_wrongly "--sort: there is no column step_tim_s; did you mean step_time_s?" --sort=-step_tim_s,label
sed 's/plan.schedule:/plan.shedule:/' points.yaml > wrong.yaml
set +e
"$STEPSIM" sweep wrong.yaml --store wrong.sqlite > /dev/null 2> wrong.log
status=$?
set -e
[[ $status == 2 ]] || fail "exit $status for a misspelt key"
grep -q "shedule" wrong.log || fail "the misspelt key is not named"

# Paths in a sweep's file are relative to it, wherever it is run from.
mkdir beside
echo 0F0,0B0,0F1,0B1 > beside/two.csv
printf 'name: beside\nexperiment: gpt-3-175b-pipeline\nset: {cluster.nodes: 1, model.layers: 2, plan.parallel.pipeline: 1, plan.batch.global_sequences: 2, plan.schedule: two.csv}\nproduct: {plan.parallel.zero: [0, 1]}\n' > beside/s.yaml
"$STEPSIM" sweep beside/s.yaml --store beside.sqlite > beside.txt 2> beside.log || fail "a schedule beside the sweep: $(cat beside.log)"
grep -q "2 simulated now" beside.log || fail "a schedule beside the sweep: $(cat beside.log)"
