# Sourced by the guest tests: builds the binary, skips where tools are missing, counts what holds.
# After it: $binary, $out (a directory that is removed at the end), expect, findings, has, lacks.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH=$PATH:/usr/sbin:/sbin
for tool in qemu-system-x86_64 busybox cryptsetup lvm mdadm mkfs.xfs systemctl cpio python3 apt-get; do
    command -v "$tool" >/dev/null || {
        echo "SKIPPED: the guest needs $tool (make test as root installs it)"
        exit 0
    }
done
cargo build --locked -q -p trimtab
binary=${CARGO_TARGET_DIR:-target}/debug/trimtab
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
passed=0
failed=0

expect() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}

# The findings of a report as "RULE MOUNT DEVICE SEVERITY SUBJECT" lines.
findings() {
    python3 -c '
import json, sys
for finding in json.load(open(sys.argv[1]))["result"]["findings"]:
    print(*(finding[key] for key in ("rule", "mount_point", "device", "severity", "subject")))' "$out/$1.json" | sort
}
has() { findings "$1" | grep -q "$2"; }
lacks() { ! has "$@"; }
same() { diff <(findings "$1") <(findings "$2"); }

# The last line of a test.
finish() {
    [ "$failed" = 0 ] || tail -n 80 "$out/log"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
