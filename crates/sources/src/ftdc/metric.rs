//! Classification of FTDC's metrics: which are counters, which are read by default, and their units.
//!
//! The rule: a metric is a **counter** if its path matches [`COUNTERS`] and no pattern of [`GAUGES`]; all
//! others are gauges. The patterns follow the documentation of `serverStatus`, the names of WiredTiger's
//! statistics (those without the flag `no_clear` are counters; the words in [`GAUGES`] identify the
//! others), and proc(5) for the kernel's metrics. Counters become rates per second.

use units::glob::matches;

/// What the metrics of disks begin with.
pub(super) const DISKS: &str = "systemMetrics.disks.";

/// Metrics that only increase while the server, or the host, is up.
const COUNTERS: &[&str] = &[
    "serverStatus.asserts.*",
    "serverStatus.connections.totalCreated",
    "serverStatus.extra_info.*fault*",
    "serverStatus.extra_info.*_time_us",
    "serverStatus.extra_info.*context_switches",
    "serverStatus.extra_info.*put_blocks",
    "serverStatus.flowControl.*Count",
    "serverStatus.flowControl.*Micros",
    "serverStatus.globalLock.totalTime",
    "serverStatus.locks.*",
    "serverStatus.metrics.commands.*.failed",
    "serverStatus.metrics.commands.*.total",
    "serverStatus.metrics.document.*",
    "serverStatus.metrics.getLastError.w*",
    "serverStatus.metrics.operation.*",
    "serverStatus.metrics.queryExecutor.*",
    "serverStatus.metrics.repl.apply.*",
    "serverStatus.metrics.repl.network.*",
    "serverStatus.metrics.ttl.*",
    "serverStatus.network.*",
    "serverStatus.opLatencies.*.latency",
    "serverStatus.opLatencies.*.ops",
    "serverStatus.opcounters.*",
    "serverStatus.opcountersRepl.*",
    "serverStatus.opWorkingTime.*.latency",
    "serverStatus.opWorkingTime.*.ops",
    "serverStatus.queues.execution.*.normalPriority.*",
    "serverStatus.transactions.total*",
    "serverStatus.wiredTiger.*",
    "systemMetrics.cpu.*_ms",
    "systemMetrics.cpu.ctxt",
    "systemMetrics.cpu.processes",
    "systemMetrics.disks.*",
    "systemMetrics.netstat.*",
    "systemMetrics.pressure.*.totalMicros",
    "systemMetrics.vmstat.pg*",
    "systemMetrics.vmstat.psw*",
];

/// Exceptions to [`COUNTERS`], which may also decrease.
const GAUGES: &[&str] = &[
    "serverStatus.metrics.repl.apply.attemptsToBecomeSecondary",
    "serverStatus.metrics.repl.*.buffer.*",
    "serverStatus.network.*Limit*",
    "serverStatus.network.serviceExecutors.*",
    "serverStatus.queues.execution.*.normalPriority.*Length",
    "serverStatus.wiredTiger.*current*",
    "serverStatus.wiredTiger.*configured*",
    "serverStatus.wiredTiger.*in the cache*",
    "serverStatus.wiredTiger.*most recent*",
    "serverStatus.wiredTiger.*recent*",
    "serverStatus.wiredTiger.*max time*",
    "serverStatus.wiredTiger.*min time*",
    "serverStatus.wiredTiger.*maximum*",
    "serverStatus.wiredTiger.*minimum*",
    "serverStatus.wiredTiger.*percentage*",
    "serverStatus.wiredTiger.*running*",
    "serverStatus.wiredTiger.*state*",
    "serverStatus.wiredTiger.*target*",
    "serverStatus.wiredTiger.*bytes belonging to*",
    "serverStatus.wiredTiger.*bytes not belonging to*",
    "serverStatus.wiredTiger.*bytes dirty*",
    "serverStatus.wiredTiger.*pinned*",
    "serverStatus.wiredTiger.*active*",
    "serverStatus.wiredTiger.*oldest*",
    "serverStatus.wiredTiger.concurrentTransactions.*",
    "serverStatus.wiredTiger.snapshot-window-settings.*",
    "systemMetrics.disks.*.io_in_progress",
    "systemMetrics.netstat.Ip:DefaultTTL",
    "systemMetrics.netstat.Ip:Forwarding",
    "systemMetrics.netstat.Tcp:CurrEstab",
    "systemMetrics.netstat.Tcp:MaxConn",
    "systemMetrics.netstat.Tcp:Rto*",
];

/// Metrics read by default: load, latencies, queues, the cache with its eviction and checkpoints, and the
/// host's processors and disks.
pub(super) const SELECTED: &[&str] = &[
    "serverStatus.connections.current",
    "serverStatus.extra_info.page_faults",
    "serverStatus.globalLock.currentQueue.*",
    "serverStatus.network.bytesIn",
    "serverStatus.network.bytesOut",
    "serverStatus.opLatencies.*.latency",
    "serverStatus.opLatencies.*.ops",
    "serverStatus.opcounters.*",
    "serverStatus.opcountersRepl.*",
    "serverStatus.wiredTiger.cache.bytes currently in the cache",
    "serverStatus.wiredTiger.cache.bytes read into cache",
    "serverStatus.wiredTiger.cache.bytes written from cache",
    "serverStatus.wiredTiger.cache.eviction * evicting pages",
    "serverStatus.wiredTiger.cache.modified pages evicted*",
    "serverStatus.wiredTiger.cache.pages evicted by application threads",
    "serverStatus.wiredTiger.cache.tracked dirty bytes in the cache",
    "serverStatus.wiredTiger.cache.unmodified pages evicted",
    "serverStatus.wiredTiger.checkpoint.most recent*",
    "serverStatus.wiredTiger.checkpoint.currently running",
    "serverStatus.wiredTiger.concurrentTransactions.*.out",
    "serverStatus.wiredTiger.transaction.transaction checkpoint currently running",
    "serverStatus.wiredTiger.transaction.transaction checkpoint most recent*",
    "systemMetrics.cpu.*_ms",
    "systemMetrics.cpu.procs_blocked",
    "systemMetrics.cpu.procs_running",
    "systemMetrics.disks.*",
    "systemMetrics.pressure.*.totalMicros",
];

/// Returns whether the metric is a counter, by the rule above.
pub(super) fn is_counter(path: &str) -> bool {
    let path = without_role(path);
    let any = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, path));
    any(COUNTERS) && !any(GAUGES)
}

/// Returns whether one of the patterns matches the path, with or without its role prefix.
pub(super) fn is_selected<S: AsRef<str>>(patterns: &[S], path: &str) -> bool {
    let bare = without_role(path);
    patterns
        .iter()
        .any(|pattern| matches(pattern.as_ref(), path) || matches(pattern.as_ref(), bare))
}

/// Returns the path without the role prefix that servers of a sharded cluster add from 8.0 on.
pub(super) fn without_role(path: &str) -> &str {
    ["common.", "shard.", "router."]
        .iter()
        .find_map(|role| path.strip_prefix(role))
        .unwrap_or(path)
}

/// Returns the unit of the raw metric, if its name tells.
pub(super) fn unit(path: &str) -> Option<&'static str> {
    let path = without_role(path);
    let last = path.rsplit('.').next().unwrap_or(path);
    if path.starts_with("serverStatus.opLatencies.") && last == "latency" {
        Some("us")
    } else if last.ends_with("_ms") || last.contains("(msecs)") {
        Some("ms")
    } else if last.contains("(usecs)") || last.ends_with("Micros") || last.ends_with("_us") {
        Some("us")
    } else if last.contains("bytes") || last.starts_with("bytes") {
        Some("bytes")
    } else if last.ends_with("_sectors") {
        Some("sectors")
    } else {
        None
    }
}

/// A mean derived from two counters: the increase of one divided by the increase of the other.
pub(super) struct Mean {
    /// Path of the numerator, below the common parent.
    pub(super) numerator: &'static str,
    /// Path of the denominator.
    pub(super) denominator: &'static str,
    /// Pattern of the common parent.
    pub(super) parent: &'static str,
    /// Name of the mean, below the common parent.
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
}

/// Means per operation: the latencies of the server's operations and of its disks.
pub(super) const MEANS: &[Mean] = &[
    Mean {
        parent: "serverStatus.opLatencies.*",
        numerator: "latency",
        denominator: "ops",
        name: "mean latency",
        unit: "us",
    },
    Mean {
        parent: "systemMetrics.disks.*",
        numerator: "read_time_ms",
        denominator: "reads",
        name: "mean read time",
        unit: "ms",
    },
    Mean {
        parent: "systemMetrics.disks.*",
        numerator: "write_time_ms",
        denominator: "writes",
        name: "mean write time",
        unit: "ms",
    },
];
