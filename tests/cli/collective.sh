#!/usr/bin/env bash
# stepsim collective: nccl-tests' columns, a star of ports, files, measured rows; what it refuses.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
fail() { echo "$*"; ((++failures)); }

# 1 GiB ring all-reduce over 64 ports of 50 GB/s, 1 us: 2 x 63 x (2^30/64/50e9 s + 1 us) = 42404.6 us; algorithm bandwidth
# 2^30 B over that = 25.32 GB/s, bus bandwidth 126/64 of it = 49.85. 63/64 x 2 x 2^30/50e9 of it is the port's.
"$STEPSIM" collective all_reduce --algorithm ring --port 50GBps --latency 1us --ranks 64 --size 1GiB --csv - >ring || fail "ring"
cat >wanted <<'CSV'
size,count,type,redop,root,time_us,algbw_GBps,busbw_GBps,algorithm,bound,wire,floor_us,messages
1073741824,268435456,float,sum,-1,42404.5843,25.3214,49.8514,ring,port,port,42278.5843,1
CSV
awk -F, 'NR == 1 {print; next} {OFS = ","; $6 = sprintf("%.4f", $6); $7 = sprintf("%.4f", $7); $8 = sprintf("%.4f", $8); $12 = sprintf("%.4f", $12); print}' ring |
  diff wanted - || fail "ring's row"

# Sizes: a range by its factor, and a list; rounded up to whole elements a rank.
sizes() { "$STEPSIM" collective "$1" --port 50GBps --ranks 8 --size "$2" --csv - | tail -n +2 | cut -d, -f1,2 | tr '\n' ' '; }
[[ $(sizes all_reduce 1KiB:1MiB:32) == "1024,256 32768,8192 1048576,262144 " ]] || fail "range: $(sizes all_reduce 1KiB:1MiB:32)"
[[ $(sizes all-gather 33B,1KiB) == "64,2 1024,32 " ]] || fail "list: $(sizes all-gather 33B,1KiB)"
[[ $(sizes alltoall 1kB:4kB) == "1024,32 2016,63 4000,125 " ]] || fail "doubling: $(sizes alltoall 1kB:4kB)"

# Text fits a terminal; every algorithm is named by what was chosen; a cluster; another detail beside it.
"$STEPSIM" collective all_reduce --ranks 64 >text || fail "text"
awk 'length > 100' text | grep -q . && fail "wide lines: $(awk 'length > 100' text)"
grep -q "^ *1024 .* tree  *latency" text || fail "small: $(cat text)"
grep -q "^ *1073741824 .* nvls_tree  *nvlink" text || fail "large"
"$STEPSIM" collective broadcast --ranks 16 --size 64MiB --versus flow --json out.json --csv out.csv >text || fail "versus"
awk 'length > 100' text | grep -q . && fail "wide lines"
grep -q '"flow_time_s"' out.json && grep -q ',flow_us$' out.csv || fail "versus in files"
"$STEPSIM" collective all_gather --ranks 4 --per-node 2 --size 1MiB --detail flow --csv - | tail -1 | cut -d, -f13 | grep -qv '^1$' || fail "flow's messages"
"$STEPSIM" collective send 2>/dev/null && fail "send is no operation"

# The shipped measurements: H800 rows are compared, and what no cluster stands for is said.
"$STEPSIM" collective --measured --csv all.csv >text || fail "measured"
awk 'length > 100' text | grep -q . && fail "wide lines"
rows=$(grep -vc '^#' "$STEPSIM_SOURCE_DIR/platforms/measured/collectives.csv")
(($(wc -l <all.csv) == rows)) || fail "not all rows: $(wc -l <all.csv) of $rows"
# 8 x H800 with NVLS: the GPU's file says 215 GB/s, so a peak of 8 GiB (69.9 ms) deviates by its steps alone:
# 14 x 2.1 us + 2 x 35 us x 8192 / (8192 + 16) = 99.3 us.
grep '^h800,.*,8,8,all_reduce,nvls,' all.csv | awk -F, '{exit !($12 < -0.0013 && $12 > -0.0015)}' || fail "nvls: $(grep nvls all.csv)"
# EP8 dispatch: 7/8 of the copies leave a GPU at 160 GB/s, of which all-to-alls reach 0.85 inside a node: 8/7 x 136 =
# 155.4 GB/s counted, for 153 measured.
grep '^h800,.*,8,8,dispatch,.*,153,' all.csv | head -1 | awk -F, '{exit !($11 > 154.5 && $11 < 155.5)}' || fail "EP8: $(grep ',8,8,dispatch' all.csv)"
head -9 "$STEPSIM_SOURCE_DIR/platforms/measured/collectives.csv" | grep '^#' >mine.csv
{
  grep '^machine,' "$STEPSIM_SOURCE_DIR/platforms/measured/collectives.csv"
  echo "h800,16,8,all_gather,hierarchical,1073741824,,,,100,busbw,,me,"
  echo "z9000,16,8,all_gather,auto,1073741824,,,,100,busbw,,me,"
} >>mine.csv
"$STEPSIM" collective --measured mine.csv >text || fail "own measurements"
grep -q "not simulated: 1 rows of z9000 all_gather: no shipped cluster" text || fail "unknown machine: $(cat text)"

# Where calls share a link that the closed form does not see, it says so.
"$STEPSIM" collective all_to_all --cluster a100-1x100 --ranks 16 --size 256MiB --detail formula >text || fail "formula"
grep -q "^more than 100 %: the closed form" text || fail "a link above its capacity is not explained: $(tail -3 text)"
"$STEPSIM" collective all_to_all --cluster a100-1x100 --ranks 16 --size 256MiB >text || fail "aggregate"
grep -q "^more than 100 %" text && fail "aggregate is above a link's capacity"

# refused NAME 'text on standard error' ARGUMENTS...
refused() {
  local name=$1 wanted=$2
  shift 2
  "$STEPSIM" collective "$@" >out 2>err
  local code=$?
  ((code == 2)) || fail "$name: exit $code: $(cat err)"
  [[ ! -s out ]] || fail "$name: standard output is not empty"
  grep -qF -- "$wanted" err || fail "$name: no \"$wanted\" in: $(cat err)"
}
refused "nothing" "name one, such as all_reduce"
refused "operation" '"all_redcue" is not one of' all_redcue
refused "size without unit" '"1024" is not a size such as 64MiB' all_reduce --size 1024
refused "range upside down" "ends below where it begins" all_reduce --size 1MiB:1KiB
refused "factor" 'the factor "1" is not a number above 1' all_reduce --size 1KiB:1MiB:1
refused "endless" "makes more than 1000 sizes" all_reduce --size 1B:1GiB:1.001
refused "algorithm" '"rign" is none of the algorithms of all_reduce: auto, flat, ring' all_reduce --ranks 8 --algorithm rign
refused "shape" "cannot serve this group of 12: it needs as many members on each of its nodes" all_reduce --ranks 12 --algorithm hierarchical
refused "too many ranks" "h800-256x8 has 2048 GPUs, not 4096" all_reduce --ranks 4096
refused "too many on a node" "has 8 GPUs a node, not 9" all_reduce --per-node 9
refused "cluster" "no-such" all_reduce --cluster no-such
refused "port and cluster" "leave --cluster out" all_reduce --port 50GBps --ranks 8 --cluster h800-256x8
refused "port alone" "needs their number" all_reduce --port 50GBps
refused "port without unit" '"50" is not a bandwidth' all_reduce --port 50 --ranks 8
refused "latency of a cluster" "belongs to --port" all_reduce --latency 1us
refused "pair" "point_to_point has two" point_to_point --ranks 4
refused "flow" "more than 1048576 messages" all_to_all --port 50GBps --ranks 1100 --detail flow
refused "measured and more" "takes no operation" all_reduce --measured
refused "no file" "there is no such file" --measured nowhere.csv
printf 'machine,gpus\n' >bad.csv
refused "columns" "bad.csv:1: the columns are machine,gpus,per_node" --measured bad.csv
{ grep '^machine,' "$STEPSIM_SOURCE_DIR/platforms/measured/collectives.csv"; echo "h800,1,8,all_gather,auto,x,,,,100,busbw,,me,"; echo "h800,8"; } >bad.csv
refused "cells" "bad.csv:3: has 2 cells, not 14" --measured bad.csv
refused "number" 'bad.csv:2: gpus: "1" is not a number of 2 or more' --measured bad.csv
exit $((failures > 0))
