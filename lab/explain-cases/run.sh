#!/usr/bin/env bash
# The cases of `trimtab explain`: generates the curve, runs the program, and checks the expectations in
# README.md. Keeps its files in target/explain-cases. Uses programs built by lab/build.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
trimtab=${TRIMTAB:-$target/debug/trimtab}
cases=lab/explain-cases
out=$target/explain-cases
mkdir -p "$out"

"$target/debug/examples/sawtooth_2016" curve >"$out/sawtooth.csv"
"$target/debug/examples/sawtooth_2016" trims >"$out/trims.csv"
./$cases/check.py curve "$out/sawtooth.csv"

# explain NAME ARGUMENTS...: writes NAME.json and prints the text output along the way.
explain() {
    local name=$1
    shift
    printf '\n$ trimtab explain %s\n' "$*"
    "$trimtab" explain "$@" --tz UTC --exit-zero --color never --width 80
    "$trimtab" explain "$@" --tz UTC --exit-zero --format json >"$out/$name.json"
    ./$cases/check.py "$name" "$out/$name.json"
}

explain jobs "$out/sawtooth.csv" --better higher --jobs $cases/rally-2016
explain blind "$out/sawtooth.csv" --better higher --jobs none
explain events "$out/sawtooth.csv" --better higher --jobs none --events "$out/trims.csv"
explain iostat $cases/mongo-03.iostat.txt --jobs $cases/mongo-03

printf '\nThe storm of the article in every form, and machines without one:\n'
./$cases/shapes.sh

printf '\nA real trim, recorded by what this host has:\n'
./$cases/recorders.sh

printf '\nThe pages of docs/, line by line:\n'
./$cases/pages.sh

# Both mostly wait. The recorders above would also record what the other discards.
./$cases/scraped.sh >"$out/scraped.log" 2>&1 &
scraped=$!
status=0
printf '\nReal trims, in a history that does not record them:\n'
./$cases/ftdc.sh || status=$?
printf '\nReal trims, scraped by a Prometheus, and copied as pt-stalk does:\n'
wait "$scraped" || status=$?
cat "$out/scraped.log"
exit "$status"
