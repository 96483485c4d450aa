//! Metrics of hosts, as Metricbeat's system module sends them.
//!
//! All metricsets of the module on Linux, as in the comparison of XFS and Btrfs whose documents these
//! resemble: cpu, load, core, diskio, filesystem, fsstat, memory, network, process, socket. Gauges are random
//! walks and counters only grow, because a column of unrelated numbers would compress worse than a real one.

use super::types::Metricbeat;
use crate::random::Random;
use jiff::Timestamp;
use std::collections::VecDeque;
use std::io::Write as _;

const MEMORY_BYTES: f64 = 4_143_972_352.0;
const SWAP_BYTES: u64 = 2_147_479_552;
const FILESYSTEMS: [(&str, &str, f64); 4] = [
    ("/dev/vda1", "/", 42_140_479_488.0),
    ("/dev/vdb1", "/var/lib/elasticsearch", 42_140_479_488.0),
    ("tmpfs", "/run", 414_400_512.0),
    ("/dev/vda15", "/boot/efi", 130_031_616.0),
];
const DISKS: [&str; 3] = ["vda", "vda1", "vdb"];
const INTERFACES: [&str; 3] = ["eth0", "lo", "docker0"];
const PROCESSES: [(&str, &str, &str); 8] = [
    (
        "java",
        "elasticsearch",
        "/usr/bin/java -Xms2g -Xmx2g -XX:+UseConcMarkSweepGC -XX:CMSInitiatingOccupancyFraction=75 \
         -Des.path.home=/usr/share/elasticsearch -cp /usr/share/elasticsearch/lib/* \
         org.elasticsearch.bootstrap.Elasticsearch -d -p /var/run/elasticsearch/elasticsearch.pid",
    ),
    (
        "metricbeat",
        "root",
        "/usr/share/metricbeat/bin/metricbeat -c /etc/metricbeat/metricbeat.yml -path.home /usr/share/metricbeat",
    ),
    ("systemd", "root", "/sbin/init splash"),
    ("nginx", "www-data", "nginx: worker process"),
    ("postgres", "postgres", "postgres: writer process"),
    ("sshd", "root", "/usr/sbin/sshd -D"),
    ("rsyslogd", "syslog", "/usr/sbin/rsyslogd -n"),
    ("kworker/0:1", "root", ""),
];

/// A gauge that moves at random between two bounds.
#[derive(Debug, Clone)]
struct Walk {
    value: f64,
    low: f64,
    high: f64,
    step: f64,
}

impl Walk {
    fn new(random: &mut Random, low: f64, high: f64, step: f64) -> Self {
        Self {
            value: low + (high - low) * random.unit(),
            low,
            high,
            step: step * (high - low),
        }
    }

    fn next(&mut self, random: &mut Random) -> f64 {
        self.value = (self.value + self.step * random.normal()).clamp(self.low, self.high);
        self.value
    }
}

/// A counter that grows in four of five samples.
#[derive(Debug, Clone)]
struct Counter {
    value: u64,
    step_max: u64,
}

impl Counter {
    fn new(random: &mut Random, step_max: u64) -> Self {
        Self {
            value: random.below(1_000_000_000),
            step_max,
        }
    }

    fn next(&mut self, random: &mut Random) -> u64 {
        if random.unit() < 0.8 {
            self.value += random.below(self.step_max);
        }
        self.value
    }
}

#[derive(Debug, Clone)]
struct Process {
    pid: u64,
    kind: usize,
    cpu: Walk,
    rss: Walk,
    files: Walk,
}

#[derive(Debug, Clone)]
struct Host {
    name: String,
    cpu: [Walk; 3],
    cores: Vec<[Walk; 2]>,
    load: Walk,
    memory: [Walk; 3],
    disks: Vec<[Counter; 7]>,
    filesystems: Vec<[Walk; 2]>,
    networks: Vec<[Counter; 4]>,
    processes: Vec<Process>,
    sockets: Walk,
}

impl Host {
    fn new(number: u32, options: &Metricbeat, random: &mut Random) -> Self {
        let mut walk = |low, high, step| Walk::new(random, low, high, step);
        // In this order they are drawn: another one changes the documents of a seed.
        Self {
            name: format!("ec2-dsrc{:02}", number + 1),
            cpu: [
                walk(0.02, 0.9, 0.03),
                walk(0.01, 0.3, 0.03),
                walk(0.0, 0.2, 0.05),
            ],
            cores: (0..options.cores)
                .map(|_| [walk(0.0, 1.0, 0.05), walk(0.0, 0.3, 0.05)])
                .collect(),
            load: walk(0.1, 4.0, 0.02),
            memory: [
                walk(0.4, 0.95, 0.01),
                walk(0.3, 0.8, 0.01),
                walk(0.0, 0.2, 0.001),
            ],
            filesystems: FILESYSTEMS
                .iter()
                .map(|_| [walk(0.1, 0.9, 0.0005), walk(0.5, 0.9, 0.0005)])
                .collect(),
            sockets: walk(3.0, 60.0, 0.02),
            processes: (0..options.processes)
                .map(|index| Process {
                    pid: 700 + 37 * u64::from(index),
                    kind: index as usize % PROCESSES.len(),
                    cpu: walk(0.0, 0.4, 0.05),
                    rss: walk(0.01, 0.5, 0.002),
                    files: walk(5.0, 300.0, 0.01),
                })
                .collect(),
            disks: DISKS
                .iter()
                .map(|_| [900, 900, 40, 100, 9000, 200, 500].map(|step| Counter::new(random, step)))
                .collect(),
            networks: INTERFACES
                .iter()
                .map(|_| [90_000, 300, 90_000, 300].map(|step| Counter::new(random, step)))
                .collect(),
        }
    }
}

/// Generates the documents: of each period all metrics of one host, then those of the next.
#[derive(Debug, Clone)]
pub(super) struct Metrics {
    random: Random,
    hosts: Vec<Host>,
    at: Timestamp,
    period_ms: i64,
    host: usize,
    ready: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl Metrics {
    pub(super) fn new(options: &Metricbeat, seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self {
            hosts: (0..options.hosts)
                .map(|number| Host::new(number, options, &mut random))
                .collect(),
            random,
            at: options.start,
            period_ms: i64::try_from(options.period.duration().as_millis()).unwrap_or(i64::MAX),
            host: 0,
            ready: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Appends the next document.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        if self.ready.is_empty() {
            self.sample();
        }
        let document = self.ready.pop_front().unwrap_or_default();
        out.extend_from_slice(&document);
        self.spare.push(document);
    }

    /// Takes all metrics of the next host.
    fn sample(&mut self) {
        let jitter_ms = i64::try_from(
            self.random
                .below(u64::try_from(self.period_ms.min(1000)).unwrap_or(1)),
        )
        .unwrap_or(0);
        let at_ms = self.at.as_millisecond().saturating_add(jitter_ms);
        let at = Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::MAX);
        let mut sink = Sink {
            prefix: format!(r#"{{"@timestamp":"{at:.3}""#),
            random: &mut self.random,
            ready: &mut self.ready,
            spare: &mut self.spare,
        };
        self.hosts[self.host].sample(&mut sink);
        self.host += 1;
        if self.host == self.hosts.len() {
            self.host = 0;
            let next_ms = self.at.as_millisecond().saturating_add(self.period_ms);
            self.at = Timestamp::from_millisecond(next_ms).unwrap_or(Timestamp::MAX);
        }
    }
}

struct Sink<'a> {
    prefix: String,
    random: &'a mut Random,
    ready: &'a mut VecDeque<Vec<u8>>,
    spare: &'a mut Vec<Vec<u8>>,
}

impl Sink<'_> {
    /// Adds a document whose metricset has these fields. `rtt_us` is how long collecting it takes on average.
    fn document(&mut self, host: &str, set: &str, rtt_us: u64, fields: std::fmt::Arguments<'_>) {
        let mut out = self.spare.pop().unwrap_or_default();
        out.clear();
        let rtt_us = rtt_us / 2 + self.random.below(rtt_us);
        let _ = write!(
            out,
            r#"{},"metricset":{{"module":"system","name":"{set}","rtt":{rtt_us}}},"system":{{"{set}":{fields}}},"beat":{{"hostname":"{host}","name":"{host}","version":"5.3.0"}},"type":"metricsets"}}"#,
            self.prefix
        );
        self.ready.push_back(out);
    }
}

/// A whole number of bytes from a share or an estimate that is not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(value: f64) -> u64 {
    value as u64
}

impl Host {
    fn sample(&mut self, sink: &mut Sink<'_>) {
        self.processors(sink);
        self.memory(sink);
        self.storage(sink);
        self.traffic(sink);
        self.processes(sink);
    }

    fn processors(&mut self, sink: &mut Sink<'_>) {
        let host = &self.name;
        let cores = self.cores.len();
        let [user, system, iowait] = &mut self.cpu;
        let (user, system) = (user.next(sink.random), system.next(sink.random));
        let iowait = iowait.next(sink.random);
        let softirq = sink.random.unit() * 0.01;
        #[allow(clippy::cast_precision_loss)] // at most a few thousand
        let idle = (cores as f64 - user - system - iowait - softirq).max(0.0);
        sink.document(host, "cpu", 180, format_args!(
            r#"{{"cores":{cores},"idle":{{"pct":{idle:.4}}},"iowait":{{"pct":{iowait:.4}}},"irq":{{"pct":0}},"nice":{{"pct":0}},"softirq":{{"pct":{softirq:.4}}},"steal":{{"pct":0}},"system":{{"pct":{system:.4}}},"user":{{"pct":{user:.4}}}}}"#
        ));
        let load = self.load.next(sink.random);
        #[allow(clippy::cast_precision_loss)] // at most a few thousand
        let each = cores.max(1) as f64;
        sink.document(host, "load", 90, format_args!(
            r#"{{"1":{load:.2},"5":{:.2},"15":{:.2},"norm":{{"1":{:.4},"5":{:.4},"15":{:.4}}}}}"#,
            load * 0.9, load * 0.8, load / each, load * 0.9 / each, load * 0.8 / each
        ));
        for (id, [user, system]) in self.cores.iter_mut().enumerate() {
            let (user, system) = (user.next(sink.random), system.next(sink.random));
            let idle = (1.0 - user - system).max(0.0);
            sink.document(host, "core", 220, format_args!(
                r#"{{"id":{id},"idle":{{"pct":{idle:.4}}},"iowait":{{"pct":0}},"irq":{{"pct":0}},"nice":{{"pct":0}},"softirq":{{"pct":0}},"steal":{{"pct":0}},"system":{{"pct":{system:.4}}},"user":{{"pct":{user:.4}}}}}"#
            ));
        }
    }

    fn memory(&mut self, sink: &mut Sink<'_>) {
        let [used, actual, swap] = &mut self.memory;
        let used_pct = used.next(sink.random);
        let used = whole(used_pct * MEMORY_BYTES);
        let actual_pct = used_pct * actual.next(sink.random);
        let actual = whole(actual_pct * MEMORY_BYTES);
        let swap_pct = swap.next(sink.random);
        #[allow(clippy::cast_precision_loss)] // 2^31
        let swap = whole(swap_pct * SWAP_BYTES as f64);
        let total = whole(MEMORY_BYTES);
        sink.document(&self.name, "memory", 110, format_args!(
            r#"{{"actual":{{"free":{},"used":{{"bytes":{actual},"pct":{actual_pct:.4}}}}},"free":{},"swap":{{"free":{},"total":{SWAP_BYTES},"used":{{"bytes":{swap},"pct":{swap_pct:.4}}}}},"total":{total},"used":{{"bytes":{used},"pct":{used_pct:.4}}}}}"#,
            total - actual, total - used, SWAP_BYTES - swap
        ));
    }

    fn storage(&mut self, sink: &mut Sink<'_>) {
        for (name, counters) in DISKS.iter().zip(&mut self.disks) {
            let [io, read, reads, read_ms, write, writes, write_ms] =
                counters.each_mut().map(|counter| counter.next(sink.random));
            sink.document(&self.name, "diskio", 700, format_args!(
                r#"{{"io":{{"time":{io}}},"name":"{name}","read":{{"bytes":{},"count":{reads},"time":{read_ms}}},"write":{{"bytes":{},"count":{writes},"time":{write_ms}}}}}"#,
                read * 512, write * 512
            ));
        }
        let (mut free_all, mut used_all) = (0, 0);
        for ((device, mount, size), [used, files]) in FILESYSTEMS.iter().zip(&mut self.filesystems)
        {
            let used_pct = used.next(sink.random);
            // Whole blocks.
            let used = whole(size * used_pct) / 4096 * 4096;
            let free = whole(*size) - used;
            let free_files = whole(2.5e6 * files.next(sink.random));
            free_all += free;
            used_all += used;
            sink.document(&self.name, "filesystem", 300, format_args!(
                r#"{{"available":{},"device_name":"{device}","files":2621440,"free":{free},"free_files":{free_files},"mount_point":"{mount}","total":{},"used":{{"bytes":{used},"pct":{used_pct:.4}}}}}"#,
                free.saturating_sub(16_384), whole(*size)
            ));
        }
        sink.document(&self.name, "fsstat", 400, format_args!(
            r#"{{"count":{},"total_files":9611264,"total_size":{{"free":{free_all},"total":{},"used":{used_all}}}}}"#,
            FILESYSTEMS.len(), free_all + used_all
        ));
    }

    fn traffic(&mut self, sink: &mut Sink<'_>) {
        for (name, counters) in INTERFACES.iter().zip(&mut self.networks) {
            let [bytes_in, packets_in, bytes_out, packets_out] =
                counters.each_mut().map(|counter| counter.next(sink.random));
            sink.document(&self.name, "network", 250, format_args!(
                r#"{{"in":{{"bytes":{bytes_in},"dropped":0,"errors":0,"packets":{packets_in}}},"name":"{name}","out":{{"bytes":{bytes_out},"dropped":0,"errors":0,"packets":{packets_out}}}}}"#
            ));
        }
        // A document for each new socket: about one in twenty of those open.
        let sockets = whole(self.sockets.next(sink.random)) / 20 + 1;
        for _ in 0..sockets {
            let port = sink.random.between(32_768, 60_999);
            let remote = sink.random.below(250) + 1;
            sink.document(&self.name, "socket", 500, format_args!(
                r#"{{"direction":"outgoing","family":"ipv4","local":{{"ip":"10.0.0.12","port":{port}}},"process":{{"cmdline":"/usr/share/metricbeat/bin/metricbeat","command":"metricbeat","exe":"/usr/share/metricbeat/bin/metricbeat","pid":911}},"remote":{{"host":"ip-10-0-0-{remote}.internal","ip":"10.0.0.{remote}","port":9200}},"user":{{"id":0,"name":"root"}}}}"#
            ));
        }
    }

    fn processes(&mut self, sink: &mut Sink<'_>) {
        for process in &mut self.processes {
            let (name, user, command) = PROCESSES[process.kind];
            let cpu = process.cpu.next(sink.random);
            let cpu = if sink.random.unit() < 0.7 { cpu } else { 0.0 };
            let rss_pct = process.rss.next(sink.random);
            let rss = whole(rss_pct * MEMORY_BYTES) / 4096 * 4096;
            let files = whole(process.files.next(sink.random));
            let state = if sink.random.unit() < 0.95 {
                "sleeping"
            } else {
                "running"
            };
            let pid = process.pid;
            sink.document(&self.name, "process", 3500, format_args!(
                r#"{{"cmdline":"{command}","cpu":{{"start_time":"2017-04-06T07:{:02}:{:02}.000Z","total":{{"pct":{cpu:.4}}}}},"fd":{{"limit":{{"hard":65536,"soft":1024}},"open":{files}}},"memory":{{"rss":{{"bytes":{rss},"pct":{rss_pct:.4}}},"share":{},"size":{}}},"name":"{name}","pgid":{pid},"pid":{pid},"ppid":1,"state":"{state}","username":"{user}"}}"#,
                pid % 60, pid % 59, rss / 4, rss * 2
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn every_metricset_of_every_host_comes_in_every_period() {
        let mut metrics = Metrics::new(&Metricbeat::default(), 1);
        let mut seen: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for _ in 0..2_000 {
            let mut out = Vec::new();
            metrics.write(&mut out);
            let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let second = document["@timestamp"].as_str().unwrap()[..19].to_owned();
            let set = document["metricset"]["name"].as_str().unwrap().to_owned();
            assert!(document["system"][&set].is_object(), "{document}");
            let host = document["beat"]["hostname"].as_str().unwrap().to_owned();
            seen.entry((second, host)).or_default().insert(set);
        }
        let sets = [
            "core",
            "cpu",
            "diskio",
            "filesystem",
            "fsstat",
            "load",
            "memory",
            "network",
            "process",
            "socket",
        ];
        // The last one may be cut.
        let whole: Vec<_> = seen.iter().take(seen.len() - 2).collect();
        assert!(whole.len() > 50, "{}", whole.len());
        for ((second, host), found) in &whole {
            assert!(found.iter().eq(sets.iter()), "{second} {host}: {found:?}");
        }
        let seconds: Vec<&String> = whole.iter().map(|((second, _), _)| second).collect();
        assert_eq!(
            seconds[..4],
            [
                "2017-04-07T00:00:00",
                "2017-04-07T00:00:00",
                "2017-04-07T00:00:01",
                "2017-04-07T00:00:01"
            ]
        );
    }
}
