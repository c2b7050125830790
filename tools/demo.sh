#!/bin/sh
# The demonstration: an ordinary MPI program, two ranks killed while it runs, and the right answer at the end.
# demo.sh DIST [CLASS]
set -eu
dist=$(cd "$1" && pwd)
class=${2:-A}
top=$(dirname "$(dirname "$(readlink -f "$0")")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

heading() { printf '\n== %s\n' "$*"; }

heading "compile an ordinary MPI program (conjugate gradient, in the style of the NAS benchmarks)"
echo "+ ftmpicc -O3 cg.c -o cg -lm"
"$dist/bin/ftmpicc" -O3 "$top/npb-harness/kernels/cg.c" -o cg -lm

heading "run it undisturbed on 4 ranks"
set -- --class "$class" --repeat "${DEMO_REPEAT:-8}"
"$dist/bin/ftmpiexec" -n 4 --ckpt-interval 1s --report calm.json ./cg "$@" >calm.txt || {
    cat calm.txt
    exit 1
}
tail -n 1 calm.txt

# The kills fall into the first two thirds of the undisturbed run's time.
wall=$(sed -n 's/.*"wall_s" *: *\([0-9.]*\).*/\1/p' calm.json | head -n 1)
first=$(awk -v w="$wall" 'BEGIN { printf "%.2f", w * 0.3 }')
second=$(awk -v w="$wall" 'BEGIN { printf "%.2f", w * 0.6 }')

heading "run it again; kill -9 rank 2 after ${first} s and rank 1 after ${second} s"
status=0
"$dist/bin/ftmpiexec" -n 4 --ckpt-interval 1s --report run.json \
    --inject "kill:rank=2,at=${first}s" --inject "kill:rank=1,at=${second}s" ./cg "$@" >run.txt ||
    status=$?
cat run.txt

heading "what happened (run.json)"
awk -v status="$status" '
    function field(name,   m) {
        if (match($0, "\"" name "\" *: *(\"[^\"]*\"|[-0-9.a-z]+)")) {
            m = substr($0, RSTART, RLENGTH); sub(/^[^:]*: */, "", m); gsub(/"/, "", m); return m
        }
        return ""
    }
    { text = text $0 " " }
    END {
        $0 = text
        printf "without failures %s s, with failures %s s, exit code %s\n", calm, field("wall_s"), status
        n = split(text, part, /[{]/)
        for (i = 1; i <= n; i++) {
            $0 = part[i]
            if (field("cause") == "") continue
            count++
            printf "failure %d: rank %s after %s s (%s): back from %s, %s events replayed, ", \
                count, field("rank"), field("at_s"), field("cause"), \
                field("image") == "null" ? "the start" : "image " field("image"), field("replayed")
            printf "detected in %s ms, restored in %s ms, caught up in %s ms\n", \
                field("detect_ms"), field("restore_ms"), field("catch_up_ms")
        }
        if (count < 2) { print "demo: expected two failures, the report has " count + 0; exit 1 }
    }' calm="$wall" run.json || status=1
[ "$status" = 0 ] && grep 'VERIFICATION SUCCESSFUL' run.txt || {
    echo "demo: FAILED (exit code $status)"
    exit 1
}
