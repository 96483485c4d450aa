#!/usr/bin/env bash
# Installs what `make release` built, with its man pages, completions and units, or removes exactly that. Nothing is
# enabled or started, and nothing of a plan, of passes or of the configuration is touched.
#
#   packaging/install.sh install|uninstall     DESTDIR= PREFIX=/usr TRIMTAB=target/static/trimtab RUN=
#
# RUN: where TRIMTAB is for another machine, the same for this one, which writes its man pages and completions.
# The prefix is /usr: units of the package and of `trimtab plan` call /usr/bin/trimtab.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr}
root=${DESTDIR:-}$prefix
trimtab=${TRIMTAB:-${CARGO_TARGET_DIR:-target}/static/trimtab}
# What is installed knows what there is to remove.
[ -x "$trimtab" ] || [ "${1:-}" != uninstall ] || trimtab=$root/bin/trimtab
trimtab=$(realpath -m "$trimtab")
run=${RUN:-$trimtab}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

[ -x "$trimtab" ] || { echo "$trimtab: not there: make release builds it" >&2 && exit 1; }
put() { # MODE NAME: from stdin or, as a third argument, from a file
    install -D -m "$1" "${3:-/dev/stdin}" "$made/$2"
}
put 755 bin/trimtab "$trimtab"
jar=$(dirname "$trimtab")/trimtab-livefix.jar
[ -e "$jar" ] || jar=$root/share/trimtab/trimtab-livefix.jar
[ ! -e "$jar" ] || put 644 share/trimtab/trimtab-livefix.jar "$jar"
for unit in packaging/*.service packaging/*.timer; do
    sed "s,/usr/bin/trimtab,$prefix/bin/trimtab,g" "$unit" | put 644 "lib/systemd/system/${unit##*/}"
done
put 644 share/trimtab/prometheus/trimtab.rules.yml packaging/prometheus/trimtab.rules.yml
sed "s,/usr/bin/trimtab,$prefix/bin/trimtab,g" packaging/trimtab.fact | put 755 share/trimtab/trimtab.fact
put 644 share/trimtab/grafana/trimtab.json packaging/grafana/trimtab.json
for file in index-template.json dashboard.ndjson; do
    put 644 "share/trimtab/elasticsearch/$file" "packaging/elasticsearch/$file"
done
put 644 lib/sysusers.d/trimtab-bench.conf packaging/trimtab-bench.sysusers.conf
"$run" man "$made/share/man/man1" >/dev/null
gzip -9n "$made"/share/man/man1/*.1
"$run" completions bash | put 644 share/bash-completion/completions/trimtab
"$run" completions zsh | put 644 share/zsh/site-functions/_trimtab
"$run" completions fish | put 644 share/fish/vendor_completions.d/trimtab.fish
put 644 share/doc/trimtab/copyright LICENSE
put 644 share/doc/trimtab/CHANGELOG.md CHANGELOG.md

case ${1:-} in
install)
    (cd "$made" && find . -type f -printf '%m %P\n') | sort -k2 | while read -r mode name; do
        # Renamed into place: a program that is running cannot be written to.
        install -D -m "$mode" "$made/$name" "$root/$name.new"
        mv "$root/$name.new" "$root/$name"
        echo "$prefix/$name"
    done
    ;;
uninstall)
    (cd "$made" && find . -type f -printf '%P\n') | sort | while read -r name; do
        [ ! -e "$root/$name" ] || { rm "$root/$name" && echo "removed $prefix/$name"; }
    done
    rmdir "$root"/share/trimtab/{prometheus,grafana,elasticsearch} "$root/share/trimtab" "$root/share/doc/trimtab" 2>/dev/null || true
    ;;
*)
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
