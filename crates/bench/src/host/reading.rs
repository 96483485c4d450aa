//! One reading of the kernel's counters.

use linux::counters::{DeviceCounters, parse_diskstats, parse_pressure};
use linux::cpu::{CpuTicks, ProcessTicks, parse_process_stat, parse_stat, parse_throttled_us};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest file that is read; /proc/stat of a host with 1,024 CPUs has 200 KB.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What is read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watched {
    /// Kernel names of the drives, as in /sys/block.
    pub drives: Vec<String>,
    /// Process ids of the server, if it is on this host.
    pub server: Vec<u32>,
    /// Process id of the driver.
    pub driver: Option<u32>,
    /// The control groups of the server below its CPU controller, from its own, such as
    /// `/sys/fs/cgroup/system.slice/elasticsearch.service`, up: each may have a limit.
    pub cgroups: Vec<PathBuf>,
}

/// Counters at one time. All of them count up, but the last four.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// On a clock that is never set.
    pub at: Duration,
    /// CPU time of the host, in ticks.
    pub cpu: Option<CpuTicks>,
    /// CPU time of the driver.
    pub driver: Option<ProcessTicks>,
    /// CPU time of the server's processes, by process id.
    pub server: BTreeMap<u32, ProcessTicks>,
    /// Counters of the drives.
    pub drives: BTreeMap<String, DeviceCounters>,
    /// Microseconds that some task waited for CPU, memory and I/O.
    pub pressure_us: Pressure,
    /// Microseconds that the server's control group was held back.
    pub throttled_us: Option<u64>,
    /// Times that a CPU was slowed by heat, summed over the CPUs' packages.
    pub thermal_throttles: Option<u64>,
    /// Bytes in the page cache.
    pub page_cache_bytes: Option<u64>,
    /// Bytes that wait to be written.
    pub dirty_bytes: Option<u64>,
    /// Frequency of the CPUs as a share of their highest, on average.
    pub frequency_share: Option<f64>,
    /// The CPUs' governors, each once.
    pub governor: Option<String>,
}

/// Pressure stall totals, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressure {
    /// Tasks that waited for a CPU.
    pub cpu: Option<u64>,
    /// Tasks that waited for memory.
    pub memory: Option<u64>,
    /// Tasks that waited for I/O.
    pub io: Option<u64>,
}

/// Reads the counters below a root directory, usually `/`.
#[derive(Debug)]
pub struct Reader {
    root: PathBuf,
    watched: Watched,
}

impl Reader {
    /// Reads `proc` and `sys` of `root`.
    pub fn new(root: PathBuf, watched: Watched) -> Self {
        Self { root, watched }
    }

    /// Reads all counters; what cannot be read is `None` or absent.
    pub fn read(&self, at: Duration) -> Reading {
        let cpus = self.cpus();
        let process = |pid: u32| {
            let text = self.text(&format!("proc/{pid}/stat"))?;
            parse_process_stat(&text).ok()
        };
        let server = self.watched.server.iter();
        let pressure = |name: &str| {
            let text = self.text(&format!("proc/pressure/{name}"))?;
            parse_pressure(&text).ok()
        };
        let memory = self.text("proc/meminfo");
        let memory = |key: &str| memory.as_deref().and_then(|text| kilobytes(text, key));
        Reading {
            at,
            cpu: self
                .text("proc/stat")
                .and_then(|text| parse_stat(&text).ok()),
            driver: self.watched.driver.and_then(process),
            server: server
                .filter_map(|&pid| Some((pid, process(pid)?)))
                .collect(),
            drives: self
                .text("proc/diskstats")
                .and_then(|text| parse_diskstats(&text, &self.watched.drives).ok())
                .unwrap_or_default(),
            pressure_us: Pressure {
                cpu: pressure("cpu"),
                memory: pressure("memory"),
                io: pressure("io"),
            },
            throttled_us: sum(self
                .watched
                .cgroups
                .iter()
                .map(|group| parse_throttled_us(&read(&group.join("cpu.stat"))?))),
            thermal_throttles: cpus
                .iter()
                .filter_map(|cpu| self.number(cpu, THROTTLES))
                .max(),
            page_cache_bytes: memory("Cached:"),
            dirty_bytes: memory("Dirty:"),
            frequency_share: self.frequency_share(&cpus),
            governor: self.governors(&cpus),
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        read(&self.root.join(path))
    }

    fn number(&self, cpu: &str, path: &str) -> Option<u64> {
        let text = self.text(&format!("{CPUS}/{cpu}/{path}"))?;
        text.trim().parse().ok()
    }

    /// Kernel names of the CPUs: `cpu0`.
    fn cpus(&self) -> Vec<String> {
        let Ok(entries) = self.root.join(CPUS).read_dir() else {
            return Vec::new();
        };
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let is_cpu = |name: &String| {
            name.strip_prefix("cpu").is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        let mut names: Vec<String> = names.filter(is_cpu).collect();
        names.sort();
        names
    }

    #[allow(clippy::cast_precision_loss)] // a share
    fn frequency_share(&self, cpus: &[String]) -> Option<f64> {
        let shares: Vec<f64> = cpus
            .iter()
            .filter_map(|cpu| {
                let now = self.number(cpu, "cpufreq/scaling_cur_freq")?;
                let highest = self.number(cpu, "cpufreq/cpuinfo_max_freq")?;
                (highest > 0).then(|| now as f64 / highest as f64)
            })
            .collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    fn governors(&self, cpus: &[String]) -> Option<String> {
        let mut found: Vec<String> = cpus
            .iter()
            .filter_map(|cpu| self.text(&format!("{CPUS}/{cpu}/cpufreq/scaling_governor")))
            .map(|text| text.trim().to_owned())
            .collect();
        found.sort();
        found.dedup();
        (!found.is_empty()).then(|| found.join(", "))
    }
}

const CPUS: &str = "sys/devices/system/cpu";
/// Counted for each CPU, the same for all of a package
/// (Documentation/admin-guide/thermal), so the hottest package counts.
const THROTTLES: &str = "thermal_throttle/package_throttle_count";

fn sum(mut values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let first = values.by_ref().flatten().next()?;
    Some(values.flatten().fold(first, u64::saturating_add))
}

/// The value of a line such as `Cached:  1234 kB`, in bytes.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = value.split_ascii_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn read(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn host() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/stat", "cpu 100 0 50 800 40 0 0 10 0 0\n"),
            (
                "proc/77/stat",
                "77 (java) S 1 77 77 0 -1 0 0 0 0 0 60 20 0 0 20 0 9 0 500 0 0\n",
            ),
            (
                "proc/9/stat",
                "9 (trimtab) R 1 9 9 0 -1 0 0 0 0 0 5 1 0 0 20 0 9 0 900 0 0\n",
            ),
            (
                "proc/diskstats",
                "259 0 nvme0n1 1 0 16 2 3 0 32 4 0 5 6 7 0 64 8\n",
            ),
            ("proc/pressure/io", "some avg10=0 total=123\n"),
            (
                "proc/meminfo",
                "MemTotal: 100 kB\nCached:  2000 kB\nDirty: 3 kB\n",
            ),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "performance\n",
            ),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
                "2000000\n",
            ),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
                "4000000\n",
            ),
            ("sys/devices/system/cpu/cpufreq/policy0", ""),
            ("group/cpu.stat", "nr_throttled 1\nthrottled_usec 99\n"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_unknown() {
        let root = host();
        let watched = Watched {
            drives: vec!["nvme0n1".to_owned(), "sdz".to_owned()],
            server: vec![77, 78],
            driver: Some(9),
            cgroups: vec![root.path().join("group"), root.path().join("none")],
        };
        let reader = Reader::new(root.path().to_owned(), watched);
        let reading = reader.read(Duration::from_secs(5));
        assert_eq!(reading.cpu.unwrap().total(), 1000);
        assert_eq!(reading.server.len(), 1);
        assert_eq!(reading.server[&77].user, 60);
        assert_eq!(reading.driver.unwrap().system, 1);
        assert_eq!(reading.drives.len(), 1);
        assert_eq!(reading.drives["nvme0n1"].read_bytes, 16 * 512);
        assert_eq!(reading.drives["nvme0n1"].discarded_bytes, Some(64 * 512));
        assert_eq!(reading.pressure_us.io, Some(123));
        assert_eq!(reading.pressure_us.cpu, None);
        assert_eq!(reading.throttled_us, Some(99));
        assert_eq!(reading.page_cache_bytes, Some(2000 * 1024));
        assert_eq!(reading.dirty_bytes, Some(3 * 1024));
        assert_eq!(reading.frequency_share, Some(0.5));
        assert_eq!(reading.governor.as_deref(), Some("performance"));
        assert_eq!(reading.thermal_throttles, None);
    }

    #[test]
    fn an_empty_root_has_nothing() {
        let root = tempfile::tempdir().unwrap();
        let reader = Reader::new(root.path().to_owned(), Watched::default());
        assert_eq!(reader.read(Duration::ZERO), Reading::default());
    }
}
