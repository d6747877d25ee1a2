#!/usr/bin/env bash
# The calibrated rates in the GPU files are what a fit to the project's own measurements gives, and to nothing else.
set -u
calibrate=$(dirname "$STEPSIM")/tools/calibrate
failures=0
fail() { echo "$*"; ((++failures)); }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$calibrate" "$STEPSIM_SOURCE_DIR/platforms/gpus" --check || fail "GPU files differ from the fit: run tools/calibrate"

# A fit without the old section, from a copy that holds nothing but the files by hand and the measurements.
cp -r "$STEPSIM_SOURCE_DIR"/platforms/. "$folder"
for file in "$folder"/gpus/*.yaml; do
  sed -i '/^  # Everything below is written by tools\/calibrate/,$d' "$file"
done
"$calibrate" "$folder/gpus" --check >/dev/null && fail "--check is content with files that have no rates"
"$calibrate" "$folder/gpus" >/dev/null || fail "the fit failed"
diff -r "$STEPSIM_SOURCE_DIR/platforms/gpus" "$folder/gpus" || fail "a fresh fit differs"

# A measurement that changes changes the rates.
sed -i 's/^a100-80-pcie,bf16,dense,1,\(.*\),\([0-9.]*\),\(github.*\)$/a100-80-pcie,bf16,dense,1,\1,99,\3/' "$folder/gpus/measured/gemm.csv"
"$calibrate" "$folder/gpus" --check >/dev/null && fail "other measurements, the same rates"

# A broken table is refused with its line.
sed -i '2s/sustained\|best_shape/often/' "$folder/gpus/measured/gemm.csv"
"$calibrate" "$folder/gpus" --check 2>err && fail "a broken line is accepted"
"$calibrate" "$folder/gpus" --check 2>&1 | grep -q 'gemm.csv:2: condition' || fail "the line is not named: $("$calibrate" "$folder/gpus" --check 2>&1)"
rm -f err
exit $((failures > 0))
