# What the commands of remedies do, for hosts that are directories: $BUNDLE/root and $BUNDLE/cmd.
# Commands that are neither here nor among the tools in PATH end the remedy with status 77.
root=$BUNDLE/root
units=$root/etc/systemd/system

# Moves the paths of a command below the directory.
moved() {
    printf '%s' "$1" | sed -E "s#(^|[[:space:]'\">=])/(etc|lib|proc|run|sys|usr|var)/#\\1$root/\\2/#g"
}

command_not_found_handle() {
    echo "$1" > "$BUNDLE/not-run"
    exit 77
}

# These only ask.
dmesg() { :; }
hdparm() { :; }
lvmconfig() { :; }
nvme() { :; }
sg_vpd() { :; }
udevadm() { :; }

# Plans and applies, on the files below the root. `moved` has moved mount points as well.
trimtab() {
    local words=() word
    [ "$1 $2" = "plan --apply" ] || command_not_found_handle "trimtab $1"
    for word in "$@"; do words+=("${word#"$root"}"); done
    # Those that were only made as places to write to would say that no job is there.
    find "$root/etc" -depth -type d -empty -delete
    "$TRIMTAB" "${words[@]}" --root "$root" > "$BUNDLE/planned" || return
    rm -r "$BUNDLE/planned" "$root/var/lib/trimtab"
}

# The state of mounts and arrays is that of the files once all commands are through.
mdadm() {
    [ "$1" = --assemble ] || return 0
    if grep -qs devices_handle_discard_safely=Y "$root"/etc/modprobe.d/*; then
        discards_of_slaves "$root/sys/block/$(basename "$2")"
    fi
}
umount() { :; }

systemctl() {
    local verb=$1 unit=${*: -1} file
    case $verb in
        daemon-reload | restart | start | stop) ;;
        enable)
            for file in "$units" "$root/lib/systemd/system" "$root/usr/lib/systemd/system"; do
                if [ -e "$file/$unit" ]; then
                    local target
                    target=$(sed -n 's/^WantedBy=//p' "$file/$unit" | head -n 1)
                    mkdir -p "$units/${target:-timers.target}.wants"
                    ln -sf "${file#"$root"}/$unit" "$units/${target:-timers.target}.wants/$unit"
                    return 0
                fi
            done
            return 1
            ;;
        disable) rm -f "$units"/*.wants/"$unit" ;;
        *) command_not_found_handle "systemctl $verb" ;;
    esac
}

# mount -o remount,OPTION... MOUNT_POINT changes the filesystem's options; another mount only repeats what
# was there before.
mount() {
    [ "$1" = -o ] || return 0
    local options=$2 point=$3 option
    for option in ${options//,/ }; do
        [ "$option" = remount ] || set_option "$point" "$option"
    done
}

set_option() {
    awk -v point="$1" -v option="$2" '
        $5 == point {
            name = option; sub(/=.*/, "", name)
            bare = name; sub(/^no/, "", bare)
            for (field = 6; field <= NF; field += NF - 6) {
                count = split($field, known, ",")
                kept = ""
                for (at = 1; at <= count; at++) {
                    other = known[at]; sub(/=.*/, "", other)
                    if (other != name && other != bare && other != "no" bare)
                        kept = kept (kept == "" ? "" : ",") known[at]
                }
                if (field == NF && !(name == "nodiscard"))
                    kept = kept (kept == "" ? "" : ",") option
                $field = kept == "" ? "rw" : kept
            }
        }
        { print }
    ' "$root/proc/self/mountinfo" > "$BUNDLE/new" && mv "$BUNDLE/new" "$root/proc/self/mountinfo"
}

# A layer takes the discards of the devices below it.
discards_of_slaves() {
    local slave name
    for slave in "$1"/slaves/*; do
        for name in discard_max_bytes discard_max_hw_bytes discard_granularity; do
            cat "$slave/queue/$name" > "$1/queue/$name"
        done
    done
}

device_of() {
    grep -lx "$1" "$root"/sys/devices/virtual/block/*/dm/name | sed 's,/dm/name,,'
}

cryptsetup() {
    local name=${*: -1}
    case "$*" in
        refresh*--allow-discards*) ;;
        *) command_not_found_handle "cryptsetup $*" ;;
    esac
    sed -i "/^$name:.* crypt /s/\$/ 1 allow_discards/" "$BUNDLE/cmd/dmsetup_table"
    discards_of_slaves "$(device_of "$name")"
}

lvchange() {
    [ "$1" = --discards ] || return 0
    local pool=${3/\//-}
    sed -i "/^$pool-tpool:/s/[1-] ignore_discard//; /^$pool-tpool:/s/[1-] no_discard_passdown//" \
        "$BUNDLE/cmd/dmsetup_table"
    local device holder name
    device=$(device_of "$pool-tpool")
    for holder in "$device" "$device"/holders/*; do
        for name in discard_max_bytes discard_max_hw_bytes discard_granularity; do
            cat "$root"/sys/block/nvme0n1/queue/$name > "$(readlink -f "$holder")/queue/$name"
        done
    done
}
