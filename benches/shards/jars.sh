# shellcheck shell=bash
# Sourced: downloads the real server's code, and runs programs on it.
#
# Provides $work, a directory that is removed at exit; jars, measured.
cache=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/shards
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v mvn >/dev/null || { echo "mvn is missing (Debian package maven)" >&2; exit 77; }

# Downloads the jars of a version with the machine's Maven, and prints the directory.
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

# Runs one of the programs here with the code of a version, which is also its first argument.
measured() { # PROGRAM VERSION ARGUMENT...
    local program=$1 version=$2 dir
    shift 2
    dir=$(jars "$version")
    [ -e "$work/$program.class" ] || javac -d "$work" ./*.java
    java -Xms2g -Xmx4g -XX:+UseParallelGC -Dhppc.bitmixer=DETERMINISTIC -cp "$work:$dir/*" "$program" "$version" "$@" 2>"$work/err" ||
        { tail -n 20 "$work/err" >&2; exit 1; }
}
