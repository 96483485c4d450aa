#!/usr/bin/env bash
# Builds trimtab-livefix.jar with Maven, and prints its path.
#
# The jar is cached by a hash of its sources in ${TRIMTAB_CACHE:-~/.cache/trimtab}/livefix. Exit code 77: it cannot be
# built here, and the last line says why.
set -euo pipefail
cd "$(dirname "$0")/../../livefix"
cache=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/livefix
PATIENCE_S=300

skip() {
    echo "$*" >&2
    exit 77
}
mapfile -t sources < <(find pom.xml src -type f | sort)
built=$cache/$(cat "${sources[@]}" | sha256sum | cut -c1-16)
jar=$built/trimtab-livefix.jar
if [ ! -e "$jar" ]; then
    command -v mvn >/dev/null || skip "mvn is missing (Debian package maven)"
    command -v javac >/dev/null || skip "javac is missing (Debian package default-jdk-headless)"
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/.build.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cp -r pom.xml src "$work"
    timeout "$PATIENCE_S" mvn -B -q -f "$work/pom.xml" package >"$work/log" 2>&1 || {
        # Without the plugins that Maven fetches there is nothing to test; an error of the compiler is one.
        ! grep -q "COMPILATION ERROR\|warnings found" "$work/log" || { cat "$work/log" >&2; exit 1; }
        skip "Maven cannot build the live fix: $(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")"
    }
    # 6.8 runs on Java 8, whose class files have version 52; and nothing of ours may meet a class of the server's.
    python3 - "$work/target/trimtab-livefix.jar" <<'PYTHON'
import sys, zipfile
classes = [name for name in zipfile.ZipFile(sys.argv[1]).namelist() if name.endswith(".class")]
assert len(classes) > 5, classes
for name in classes:
    assert name.startswith("trimtab/livefix/"), f"{name} has a name that is not ours"
    major = int.from_bytes(zipfile.ZipFile(sys.argv[1]).read(name)[6:8], "big")
    assert major <= 52, f"{name} has version {major}, Java 8 reads up to 52"
PYTHON
    mkdir -p "$built"
    mv "$work/target/trimtab-livefix.jar" "$jar"
fi
echo "$jar"
