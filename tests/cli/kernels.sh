#!/usr/bin/env bash
# stepsim kernels: text of at most 100 columns, a CSV row a kernel, the same as JSON.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
fail() { echo "$*"; ((++failures)); }

"$STEPSIM" kernels deepseek-v3-dualpipe --set plan.rates=calibrated --csv k.csv --json k.json >text || fail "exit $?"
awk 'length > 100' text | grep -q . && fail "wide lines: $(awk 'length > 100' text | head -3)"
grep -q "^58 x expert layer: " text || fail "58 layers with experts: $(grep ' x ' text)"
grep -q "^3 x dense layer: " text || fail "3 dense layers"
python3 - <<'END' || fail "CSV and JSON differ"
import csv, json
rows = list(csv.DictReader(open("k.csv")))
kernels = json.load(open("k.json"))["kernels"]
assert len(rows) == len(kernels) > 100
for row, kernel in zip(rows, kernels):
    assert row["kernel"] == kernel["name"] and abs(float(row["time_s"]) - kernel["time_s"]) <= 1e-8 * kernel["time_s"]
END
"$STEPSIM" kernels deepseek-v3-dualpipe --set plan.shedule=1f1b >out 2>err
(($? == 2)) && [[ ! -s out ]] && grep -q "plan.shedule" err || fail "a misspelt key: $(cat err)"
exit $((failures > 0))
