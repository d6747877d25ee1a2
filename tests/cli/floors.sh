#!/usr/bin/env bash
# A file includes only lower floors (and its own).
set -u
cd "$STEPSIM_SOURCE_DIR"
floor_of() {
  case $1 in
    sim/base/*) echo 0 ;;
    sim/graph/*) echo 1 ;;
    sim/cluster/*) echo 1 ;;
    sim/cost/* | sim/collective/*) echo 2 ;;
    workloads/*) echo 3 ;;
    sim/engine/*) echo 4 ;;
    sim/report/*) echo 5 ;;
    sim/explore/*) echo 7 ;;
    sim/verbs/* | sim/main.cpp) echo 8 ;;
    sim/*) echo 6 ;;
    *) echo 99 ;;
  esac
}
bad=0
checked=0
while IFS=: read -r file _ line; do
  included=$(sed -E 's/.*"([^"]+)".*/\1/' <<<"$line")
  [[ $included == sim/* || $included == workloads/* ]] || continue
  ((++checked))
  if (($(floor_of "$included") > $(floor_of "$file"))); then
    echo "$file includes $included, a higher floor"
    bad=1
  fi
  # Engines see graphs only; workloads never see engines or reports.
  if [[ $file == sim/engine/* && $included != sim/engine/* && $included != sim/graph/* && $included != sim/base/* ]]; then
    echo "$file includes $included: an engine sees the graph only"
    bad=1
  fi
done < <(grep -rnE '^#include "' sim workloads --include='*.cpp' --include='*.hpp')
# Only one file sees SimGrid.
others=$(grep -rlE '#include <simgrid' sim workloads | grep -v '^sim/engine/simgrid.cpp$')
if [[ -n $others ]]; then
  echo "SimGrid is seen by: $others"
  bad=1
fi
((checked > 100)) || { echo "only $checked includes were found"; bad=1; }
exit $bad
