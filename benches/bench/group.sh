# shellcheck shell=bash
# Control groups of the load drivers that run side by side: CPU time of a driver with all its processes, and a limit on
# it. Sourced; needs root. Versions 1 and 2 of control groups differ in the files' names.

groups=/sys/fs/cgroup
group=trimtab-bench-$$

# A new group: without a limit, or with so many ms of CPU time in each 100 ms.
group_open() { # [QUOTA_MS]
    if [[ -e $groups/cgroup.controllers ]]; then
        echo +cpu >"$groups/cgroup.subtree_control"
        mkdir "$groups/$group"
        [[ -z ${1:-} ]] || echo "$(($1 * 1000)) 100000" >"$groups/$group/cpu.max"
    else
        mkdir -p "$groups/cpu/$group" "$groups/cpuacct/$group"
        echo 100000 >"$groups/cpu/$group/cpu.cfs_period_us"
        [[ -z ${1:-} ]] || echo "$(($1 * 1000))" >"$groups/cpu/$group/cpu.cfs_quota_us"
    fi
}

# Lets the group go before all other work on the machine. For drivers that need little CPU time.
group_first() {
    if [[ -e $groups/cgroup.controllers ]]; then
        echo 10000 >"$groups/$group/cpu.weight"
    else
        echo 262144 >"$groups/cpu/$group/cpu.shares"
    fi
}

# Runs a command in the group. Its standard input is empty.
group_run() { # COMMAND...
    local procs
    procs=$(ls "$groups/$group/cgroup.procs" "$groups"/cpu{,acct}/"$group/cgroup.procs" 2>/dev/null || true)
    # shellcheck disable=SC2016
    bash -c 'for procs in $0; do echo $$ >"$procs"; done; exec "$@"' "$procs" "$@" </dev/null
}

# CPU time of the group so far, in s.
group_cpu_s() {
    if [[ -e $groups/$group/cpu.stat ]]; then
        awk '$1 == "usage_usec" { printf "%.3f\n", $2 / 1e6 }' "$groups/$group/cpu.stat"
    else
        awk '{ printf "%.3f\n", $1 / 1e9 }' "$groups/cpuacct/$group/cpuacct.usage"
    fi
}

# Percentage of the periods with any work in which the group was held back.
group_held_back() {
    local stat=$groups/cpu/$group/cpu.stat
    [[ ! -e $groups/$group/cpu.stat ]] || stat=$groups/$group/cpu.stat
    awk '$1 == "nr_periods" { n = $2 } $1 == "nr_throttled" { t = $2 }
         END { printf "%.0f %%\n", n ? 100 * t / n : 0 }' "$stat"
}

# Removes the group. What is left in it has been told to end, and is waited for.
group_close() {
    local directory
    for directory in "$groups/$group" "$groups"/cpu{,acct}/"$group"; do
        for _ in $(seq 100); do
            [[ -d $directory ]] || break
            rmdir "$directory" 2>/dev/null || sleep 0.1
        done
    done
}

# Busy CPU time of the whole machine so far, the hypervisor's share in it included, in s.
machine_cpu_s() {
    awk -v hertz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%.2f\n", ($2 + $3 + $4 + $7 + $8 + $9) / hertz; exit }' /proc/stat
}

# CPU time of a process so far, in s.
process_cpu_s() { # PID
    awk -v hertz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.2f\n", ($12 + $13) / hertz }' "/proc/$1/stat"
}
