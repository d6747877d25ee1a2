#!/usr/bin/env bash
# validate --write: the files that a published run became give the step time that validate says.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export STEPSIM_HOME=$STEPSIM_SOURCE_DIR
cd "$folder"
failures=0
fail() { echo "$*"; ((++failures)); }

"$STEPSIM" validate "$STEPSIM_SOURCE_DIR/workloads/runs/published.csv" --filter 'id=KOR22-22B-*' --write inputs --csv rows.csv >/dev/null || fail "exit $?"
[[ $(ls inputs | wc -l) == 2 ]] || fail "a folder a row: $(ls inputs)"
for run in inputs/*; do
  command=$(sed -n 's/^# stepsim //p' "$run/experiment.yaml")
  # shellcheck disable=SC2086  # words are arguments
  "$STEPSIM" $command --elasticities off --json run.json >/dev/null || fail "$run: $command"
  python3 - "$(basename "$run")" <<'END' || fail "$run: another step time"
import csv, json, sys
row = next(r for r in csv.DictReader(open("rows.csv")) if r["id"] == sys.argv[1])
sys.exit(0 if abs(json.load(open("run.json"))["step_time_s"] / float(row["predicted_step_s"]) - 1) < 1e-5 else 1)
END
done
grep -q "^# assumption (dropout): " inputs/KOR22-22B-full/plan.yaml || fail "assumptions are not named"
: >file
"$STEPSIM" validate "$STEPSIM_SOURCE_DIR/workloads/runs/published.csv" --filter 'id=KOR22-22B-full' --write file/x >out 2>err
(($? == 2)) && [[ ! -s out ]] && grep -q -- "--write" err || fail "a folder that cannot be made: $(cat err)"
"$STEPSIM" validate "$STEPSIM_SOURCE_DIR/workloads/runs/published.csv" --filter 'id=KOR22-22B-*' --set plan.nope=1 >out 2>err
code=$?
((code == 2)) && grep -q "no row was simulated" err && grep -q "plan.nope" out || fail "no row simulated: exit $code"
exit $((failures > 0))
