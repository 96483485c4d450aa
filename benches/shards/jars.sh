# shellcheck shell=bash
# Sourced: where the real server's code comes from, and how it is run.
#
# After it: $work, a directory that is removed at the end; jars, measured.
cache=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/shards
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v mvn >/dev/null || { echo "mvn is missing (Debian package maven)" >&2; exit 77; }

# The jars of a version, through Maven as it is set up on this machine: prints the directory.
jars() { # VERSION
    local dir=$cache/$1
    if [ ! -e "$dir/complete" ]; then
        mkdir -p "$dir"
        cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>measured</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.elasticsearch</groupId><artifactId>elasticsearch</artifactId><version>$1</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-core</artifactId><version>2.11.1</version></dependency>
  </dependencies>
</project>
POM
        mvn -q -B --no-transfer-progress -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$dir" >&2
        touch "$dir/complete"
    fi
    echo "$dir"
}

# One of the programs here, on the code of a version; the version is its first argument.
measured() { # PROGRAM VERSION ARGUMENT...
    local program=$1 version=$2 dir
    shift 2
    dir=$(jars "$version")
    [ -e "$work/$program.class" ] || javac -d "$work" ./*.java
    java -Xms2g -Xmx4g -XX:+UseParallelGC -Dhppc.bitmixer=DETERMINISTIC -cp "$work:$dir/*" "$program" "$version" "$@" 2>"$work/err" ||
        { tail -n 20 "$work/err" >&2; exit 1; }
}
