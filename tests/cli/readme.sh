#!/usr/bin/env bash
# The README's commands print what it shows. They run the release build; under another preset there is nothing to compare.
set -eu
cd "$STEPSIM_SOURCE_DIR"
if [[ $STEPSIM != "$PWD/build/release/stepsim" ]]; then
  echo "skipped: the README shows the release build"
  exit 0
fi
tools/update_readme --check
