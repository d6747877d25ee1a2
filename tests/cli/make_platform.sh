# The shipped platforms are what the commands in their YAML files write, byte for byte; wrong options are refused.
set -euo pipefail
cd "$STEPSIM_SOURCE_DIR"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/platforms"
ln -s "$PWD/tools" "$work/tools"

made=0
for yaml in platforms/*.yaml; do
  command=$(sed -n 's/^# \(tools\/make_platform .*\)$/\1/p' "$yaml")
  test -n "$command" || { echo "$yaml does not say which command wrote it"; exit 1; }
  (cd "$work" && eval "$command")
  cmp "$yaml" "$work/$yaml"
  cmp "${yaml%.yaml}.xml" "$work/${yaml%.yaml}.xml"
  grep -qF "value=\"$command\"" "${yaml%.yaml}.xml"
  made=$((made + 1))
done
test "$made" -ge 17

help=$(tools/make_platform --help)
for option in topology system nodes gpus-per-node nics-per-node nic-bandwidth nvlink-bandwidth nvlink-latency \
              pcie-bandwidth pcie-latency bridge-bandwidth bridge-latency leaf-size leaf-latency spine-latency \
              core-latency oversubscription spine-oversubscription pod-size planes rails leaf-cables spine-cables \
              site-bandwidth site-latency site-cables groups routers local-bandwidth local-latency global-bandwidth \
              global-latency name gpu network output yaml; do
  grep -q -- "--$option" <<<"$help" || { echo "--help is silent on --$option"; exit 1; }
done

# To standard output, the same file.
(cd "$work" && tools/make_platform --nodes 2 --name small -o small.xml)
(cd "$work" && tools/make_platform --nodes 2 --name small) | sed 's/"tools[^"]*"//' >"$work/printed.xml"
sed 's/"tools[^"]*"//' "$work/small.xml" | cmp - "$work/printed.xml"

refused() {
  if message=$(tools/make_platform "$@" 2>&1 >"$work/out"); then echo "accepted: $*"; exit 1; fi
  test ! -s "$work/out"
  grep -q "^make_platform: error: \|^usage:" <<<"$message" || { echo "unkind refusal of $*: $message"; exit 1; }
}
refused
refused --nodes 2
refused --nodes 0 --name x
refused --nodes -1 --name x
refused --nodes two --name x
refused --nodes 2 --name 'x"/>'
refused --nodes 2 --name x --planes 3
refused --nodes 2 --name x --nic-bandwidth 50
refused --nodes 2 --name x --nic-bandwidth 0GBps
refused --nodes 2 --name x --nvlink-latency 3
refused --nodes 2 --name x --spine-latency 1us --leaf-latency 2us
refused --nodes 2 --name x --oversubscription 0
refused --nodes 2 --name x --topology ring
refused --nodes 2 --name x --yaml "$work/x.yaml"

# refused_for WORDS OPTIONS...: with this reason.
refused_for() {
  local words=$1
  shift
  refused --name x "$@"
  grep -qF -- "$words" <<<"$message" || { echo "wrong reason for $*: $message"; exit 1; }
}
refused_for "--nodes 2000000 x --gpus-per-node 8 are more than 1048576 GPUs" --nodes 2000000
refused_for "--rails means nothing to --topology fat-tree-2" --nodes 2 --rails 8
refused_for "--nvlink-bandwidth means nothing to --topology pcie" --topology pcie --nodes 2 --nvlink-bandwidth 1GBps
refused_for "--nics-per-node 3 does not divide --gpus-per-node 8" --nodes 2 --nics-per-node 3
refused_for "--rails 3 does not divide" --topology rail --nodes 2 --rails 3
refused_for "--core-latency is below --spine-latency" --topology fat-tree-3 --nodes 2 --core-latency 3us
refused_for "--site-bandwidth is required" --topology two-sites --nodes 2 --site-latency 1ms
refused_for "--nodes 3 is odd" --topology two-sites --nodes 3 --site-latency 1ms --site-bandwidth 1GBps
refused_for "--groups is required" --topology dragonfly --nodes 2 --routers 2
refused_for "--nodes 9 is not 8" --topology dragonfly --nodes 9 --groups 2 --routers 2 --leaf-size 2
refused_for "more than 1000000 links" --topology dragonfly --nodes 2000 --groups 2000 --routers 1 --leaf-size 1
refused_for "--leaf-latency is below --pcie-latency" --topology pcie --nodes 2 --pcie-latency 3us
refused_for "invalid choice" --nodes 2 --system dgx-2
test ! -e "$work/x.yaml"
! tools/make_platform --nodes 2 --name x -o /nowhere/x.xml 2>"$work/message"
grep -q "/nowhere/x.xml" "$work/message"
