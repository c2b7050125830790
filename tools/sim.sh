#!/bin/sh
# Simulates SEEDS seeds from FIRST on, in as many processes as there are processors:
#   sim.sh SIMULATOR SEEDS FIRST OUT [OPTIONS OF THE SIMULATOR...]
# Each process prints a summary if all its seeds are right. If a seed fails, the script prints the reason and
# the end of the trace of the first one. OUT then has the whole trace and its picture (seed-N.trace,
# seed-N.svg), and the exit code is 1.
set -eu
sim=$1
seeds=$2
first=$3
out=$4
shift 4
case $seeds$first in
*[!0-9]*) echo "make sim: SEEDS and FIRST are numbers" >&2; exit 2 ;;
esac
mkdir -p "$out"
rm -f "$out"/part-*
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
[ "$jobs" -le "$seeds" ] || jobs=$seeds
share=$(((seeds + jobs - 1) / jobs))
pids=
part=0
while [ $((part * share)) -lt "$seeds" ]; do
    left=$((seeds - part * share))
    [ "$left" -le "$share" ] || left=$share
    "$sim" --first $((first + part * share)) --seeds "$left" "$@" >"$out/part-$part" 2>&1 &
    pids="$pids $!"
    part=$((part + 1))
done
trap 'kill $pids 2>/dev/null' INT TERM
code=0
for pid in $pids; do
    wait "$pid" || code=1
done
if [ "$code" = 0 ]; then
    cat "$out"/part-*
    exit 0
fi
failed=$(sed -n 's/^seed \([0-9]*\) fails: .*/\1/p' "$out"/part-* | sort -n | head -1)
if [ -z "$failed" ]; then
    echo "make sim: a process failed without naming a seed:" >&2
    tail -n 5 "$out"/part-* >&2
    exit 1
fi
sed -n "/^seed $failed fails: /p" "$out"/part-*
"$sim" --first "$failed" --seeds 1 --trace "$@" >"$out/seed-$failed.trace" 2>&1 || true
# A panic ends the simulator before it can draw.
"$sim" --first "$failed" --seeds 1 --svg "$out/seed-$failed.svg" "$@" >/dev/null 2>&1 || true
echo "the end of its trace:"
tail -n 40 "$out/seed-$failed.trace"
echo "the whole trace: $out/seed-$failed.trace"
[ ! -s "$out/seed-$failed.svg" ] || echo "its picture:     $out/seed-$failed.svg"
exit 1
