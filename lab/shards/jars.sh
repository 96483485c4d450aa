# shellcheck shell=bash
# Sourced: the code of real servers, any version.
server_jars=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/shards

# Downloads the jars of a version with the machine's Maven, and prints the directory. The version of OpenSearch is
# opensearch-2.19.1. Returns 77 if they are unavailable.
jars() { # VERSION
    local dir=$server_jars/$1 work product=elasticsearch
    [[ $1 != opensearch-* ]] || product=opensearch
    if [ ! -e "$dir/complete" ]; then
        command -v mvn >/dev/null || { echo "mvn is missing (Debian package maven)" >&2; return 77; }
        mkdir -p "$dir"
        work=$(mktemp -d "$server_jars/.fetch.XXXXXX")
        cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>measured</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.$product</groupId><artifactId>$product</artifactId><version>${1#opensearch-}</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-core</artifactId><version>2.11.1</version></dependency>
  </dependencies>
</project>
POM
        if ! mvn -q -B --no-transfer-progress -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$dir" >"$work/log" 2>&1; then
            echo "Maven cannot fetch the jars of $1: $(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")" >&2
            rm -rf "$work"
            return 77
        fi
        rm -rf "$work"
        touch "$dir/complete"
    fi
    echo "$dir"
}
