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
test "$made" -ge 2

help=$(tools/make_platform --help)
for option in topology nodes gpus-per-node nics-per-node nvlink-bandwidth nic-bandwidth nvlink-latency leaf-latency spine-latency \
              leaf-size oversubscription planes rails system network name gpu output yaml; do
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
test ! -e "$work/x.yaml"
! tools/make_platform --nodes 2 --name x -o /nowhere/x.xml 2>"$work/message"
grep -q "/nowhere/x.xml" "$work/message"
