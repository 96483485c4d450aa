# shellcheck shell=bash
# Sourced: the code of real servers, any version.
server_jars=${TRIMTAB_CACHE:-$HOME/.cache/trimtab}/shards
# SHA-256 of the server's own jar, for versions that recorded results depend on.
declare -A server_jar_sums=([7.4.0]=c544a0df3ed1a341a04b80384acced2fc6eae62668b8c5504cbf1ef1b0b1f63b)

# Downloads the jars of a version with the machine's Maven, and prints the directory. The version of OpenSearch is
# opensearch-2.19.1. Returns 77 if they are unavailable. Of two that download at once, the second waits.
jars() { # VERSION
    local dir=$server_jars/jars/$1
    mkdir -p "$server_jars/jars" || return
    [ -e "$dir" ] || (flock 9 && { [ -e "$dir" ] || fetch_jars "$1" "$dir"; }) 9>"$server_jars/.lock" || return
    echo "$dir"
}

# In a shell of its own, which removes what it leaves behind.
fetch_jars() { # VERSION DIR
    local work product=elasticsearch wanted=${server_jar_sums[$1]:-} found
    [[ $1 != opensearch-* ]] || product=opensearch
    command -v mvn >/dev/null || { echo "mvn is missing (Debian package maven)" >&2; return 77; }
    work=$(mktemp -d "$server_jars/.fetch.XXXXXX") || return
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
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
    echo "== fetching the jars of $1 with Maven" >&2
    if ! timeout 300 mvn -q -B --no-transfer-progress -f "$work/pom.xml" dependency:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$work/jars" >"$work/log" 2>&1; then
        echo "Maven cannot fetch the jars of $1: $(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")" >&2
        return 77
    fi
    found=$(sha256sum "$work/jars/$product-${1#opensearch-}.jar" | cut -d' ' -f1)
    if [ -n "$wanted" ] && [ "$found" != "$wanted" ]; then
        echo "$product-$1.jar has an unexpected checksum: SHA-256 $found" >&2
        return 2
    fi
    mv "$work/jars" "$2"
}
