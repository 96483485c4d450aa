//! # FS001: Btrfs under a store: what compression brings
//!
//! ## What it finds
//! Elasticsearch or OpenSearch data on Btrfs, and what its `compress` or `compress-force` option
//! brings for that server's version; MongoDB data on compressed Btrfs; kernels on which compressed
//! Btrfs is a risk.
//!
//! ## Why it hurts
//! Since Elasticsearch 6 (Lucene 7) the stored columns are encoded so densely that older advice no
//! longer holds. Size of the same 1,866,239 documents (1,051 MB of JSON), relative to XFS:
//!
//! | | Elasticsearch 6.8.23 | Elasticsearch 5.6.16 |
//! |---|---|---|
//! | Btrfs without compression, ext4 | 1.00 | 1.00 |
//! | compress-force=lzo | 0.98 | 0.75 |
//! | compress-force=zlib | 0.68 | 0.50 |
//! | compress-force=zstd | 0.66 | 0.47 |
//! | compress=zstd, not forced | 1.00 | 0.85 |
//! | XFS and `index.codec: best_compression` | 0.67 | not measured |
//! | `best_compression` and compress-force=zstd | 0.52 | not measured |
//!
//! `trimtab bench filesystems` does the same on your drive and with your server's version, the queries
//! included.
//!
//! Btrfs reads ahead up to 4 MiB, where a drive's default is 128 KiB. As long as the index fits into
//! the page cache this does not matter. With a page cache of an eighth of the index, 1,000 queries on
//! Elasticsearch 6.8.23 took 62 s on Btrfs, and read 60 GiB: 10.9 (8.1 to 14.6) times as long as on XFS,
//! which took 5.8 s; 5.7 s on Btrfs with a read-ahead of 128 KiB (three runs of each on a loop device,
//! 1,000,180 documents, the same segments):
//!
//! ```text
//! trimtab bench filesystems --larger-than-memory --same-segments \
//!   --variants xfs,ext4,btrfs,btrfs+read_ahead_128k --documents 1m --pause 1s
//! ```
//!
//! Without `-force` Btrfs gives up on a file whose beginning does not compress, and nothing is
//! saved. The index's own `best_compression` saves as much as the best filesystem option, on any
//! filesystem, so it is ranked first.
//!
//! ## Evidence
//! The mount options, the store's version, the kernel's version, and the read-ahead in
//! `/sys/fs/btrfs/UUID/bdi/read_ahead_kb` (Linux 5.9 and later). Other versions of the servers were
//! not measured; OpenSearch uses the newer encoding as well.
//!
//! ## Remedy
//! `index.codec: best_compression` for new indices, old ones by a force merge to one segment; then,
//! if need be, `mount -o remount,compress-force=zstd MOUNT` and the same in /etc/fstab. Only what is
//! written afterwards is compressed. Where the data is larger than the page cache, a read-ahead of
//! 128 KiB.
//!
//! ## Risk
//! Compression costs processor time, in kernel threads that no process is charged for. Reading
//! compressed extents beside holes could return wrong data before Linux 5.1 (fixed in 3.16.70,
//! 3.18.137, 4.4.177, 4.9.165, 4.14.108, 4.19.31 and 5.0.4 as well); from 5.1 to 5.4.13 writes during
//! a balance could corrupt metadata.
//!
//! ## When it is silent
//! On other filesystems, and for stores that are neither Elasticsearch nor OpenSearch nor MongoDB.
//!
//! ## References
//! - btrfs(5), COMPRESSION; Elasticsearch reference, index.codec
//! - bees, "Recommended Kernel Version", with its table of faults and fixes
//! - linux-btrfs, August 2018: "corrupted data reads when reading a mix of compressed extents and holes"

use crate::context::Context;
use crate::finding;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::shell::{operand, printable, server_operand};
use crate::volume::Volume;
use facts::host::{Mount, Store, StoreEngine};
use facts::{Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "FS001",
    title: "Btrfs under a store: what compression brings",
    source: include_str!("fs001.rs"),
    check: Check::Host(Needs::Stores, check),
};

/// How Btrfs compresses on a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression<'a> {
    Off,
    /// The method, `zlib` if none is given.
    Tried(&'a str),
    Forced(&'a str),
}

impl Compression<'_> {
    /// The last option takes precedence, as in the kernel.
    fn of(mount: &Mount) -> Compression<'_> {
        mount
            .options
            .iter()
            .rev()
            .find_map(|option| {
                let (key, value) = option.split_once('=').unwrap_or((option, "zlib"));
                let method = value.split(':').next().unwrap_or(value);
                match (key, method) {
                    ("compress" | "compress-force", "no" | "none") => Some(Compression::Off),
                    ("compress", method) => Some(Compression::Tried(method)),
                    ("compress-force", method) => Some(Compression::Forced(method)),
                    _ => None,
                }
            })
            .unwrap_or(Compression::Off)
    }

    fn as_option(self) -> Option<String> {
        match self {
            Self::Off => None,
            Self::Tried(method) => Some(format!("compress={}", printable(method))),
            Self::Forced(method) => Some(format!("compress-force={}", printable(method))),
        }
    }
}

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let volumes = cx
        .volumes
        .iter()
        .filter(|volume| volume.mount.fs_type == "btrfs");
    for volume in volumes {
        let compression = Compression::of(volume.mount);
        let lucene = volume.stores.iter().find(|store| store.engine.is_lucene());
        let mongodb = volume
            .stores
            .iter()
            .find(|store| store.engine == StoreEngine::Mongodb);
        let risk = cx
            .host
            .platform
            .kernel_release
            .as_deref()
            .and_then(|release| kernel_risk(release, compression != Compression::Off));
        let finding = if let Some(store) = lucene {
            under_lucene(volume, store, compression)
        } else if let (Some(store), Some(option)) = (mongodb, compression.as_option()) {
            under_mongodb(volume, store, &option)
        } else {
            continue;
        };
        out.findings.push(with_kernel(cx, finding, risk));
    }
}

fn with_kernel(cx: &Context<'_>, mut finding: Finding, risk: Option<Risk>) -> Finding {
    if let Some(release) = &cx.host.platform.kernel_release {
        finding.add_evidence("proc/sys/kernel/osrelease", release);
    }
    let Some(risk) = risk else {
        return finding;
    };
    finding.why.push(' ');
    finding.why.push_str(risk.text);
    if risk.is_certain {
        finding.severity = Severity::Warning;
        finding.remedy.insert(
            0,
            Remedy::advice("Run a newer kernel before more data is written here."),
        );
    } else {
        finding.why.push_str(
            " Its version does not tell whether the distribution's kernel contains the fix.",
        );
    }
    finding
}

/// A risk of Btrfs on some kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Risk {
    text: &'static str,
    /// Whether the kernel's version is certain to be affected.
    is_certain: bool,
}

const COMPRESSION_RISK: &str = "Before Linux 5.1 reading compressed extents beside holes could \
    return wrong data.";
const BALANCE_RISK: &str = "From Linux 5.1 to 5.4.13 writes during a balance could corrupt the \
    metadata and lose the filesystem.";

/// First stable releases with commit 8e928218780e, "Btrfs: fix corruption reading shared and
/// compressed extents after hole punching"; all releases from 5.1 on have it.
const COMPRESSION_FIXED_IN: &[(u32, u32, u32)] = &[
    (3, 16, 70),
    (3, 18, 137),
    (4, 4, 177),
    (4, 9, 165),
    (4, 14, 108),
    (4, 19, 31),
    (5, 0, 4),
];

/// Returns the risk of Btrfs on a kernel; `None` if none is known.
fn kernel_risk(release: &str, compresses: bool) -> Option<Risk> {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse::<u32>().ok());
    let (major, minor) = (numbers.next()??, numbers.next()??);
    let patch = numbers.next().flatten().unwrap_or(0);
    let version = (major, minor, patch);
    let (text, is_affected) = if version < (5, 1, 0) {
        let is_fixed = COMPRESSION_FIXED_IN
            .iter()
            .any(|&(a, b, first)| (a, b) == (major, minor) && patch >= first);
        (COMPRESSION_RISK, compresses && !is_fixed)
    } else {
        // Fixed by commit 6282675e6708, "btrfs: relocation: fix reloc_root lifespan and access".
        (BALANCE_RISK, version < (5, 4, 14))
    };
    // Debian, Ubuntu and Red Hat append their build number to a third number that stays 0
    // (`5.4.0-150-generic`), regardless of which fixes they backported.
    let is_certain = patch > 0 || !release.contains('-');
    is_affected.then_some(Risk { text, is_certain })
}

/// Whether the server writes the denser columns of Lucene 7: Elasticsearch from 6, OpenSearch
/// always. `None` if the version is unknown.
fn has_dense_columns(store: &Store) -> Option<bool> {
    if store.engine == StoreEngine::Opensearch {
        return Some(true);
    }
    let major: u32 = store.version.as_deref()?.split('.').next()?.parse().ok()?;
    Some(major >= 6)
}

fn under_lucene(volume: &Volume<'_>, store: &Store, compression: Compression<'_>) -> Finding {
    let dense = has_dense_columns(store);
    let own_codec = store
        .settings
        .iter()
        .any(|(key, value)| key == "index.codec" && value == "best_compression");
    let title = match compression.as_option() {
        None => {
            "Btrfs without compression pays for checksums and copy-on-write, and saves no space"
                .to_owned()
        }
        Some(option) => format!("Btrfs with {option}: {}", saving(compression, dense)),
    };
    let mut finding = finding::about_volume(&RULE, Severity::Info, volume, title);
    finding.why = format!(
        "Measured on the same documents, size relative to XFS: {}.{} The saving depends on the \
         server's version, whose column encoding leaves the filesystem more or less to compress.",
        measured(dense),
        match &store.version {
            Some(version) => format!(" This is {} {}.", store.engine.label(), printable(version)),
            None => format!(
                " The version of {} is not known here.",
                store.engine.label()
            ),
        }
    );
    finding.add_evidence(
        format!("{}: version", store.engine.label()),
        store.version.as_deref().unwrap_or("unknown"),
    );
    if own_codec {
        finding.add_evidence(
            format!("{}: index.codec", store.engine.label()),
            "best_compression",
        );
    } else {
        finding.add_remedy(
            Remedy::advice(
                "First the index's own compression: 0.67 of the size on any filesystem (Elasticsearch \
                 6.8.23). Set `index.codec: best_compression` in the templates of new indices; an old \
                 index takes the setting while it is closed, and a force merge to one segment \
                 rewrites it.",
            )
            .risk("Fetching documents costs more processor time; a force merge is heavy work.")
            .undo("Set index.codec to default; merges rewrite the segments over time."),
        );
    }
    if !matches!(compression, Compression::Forced("zstd")) {
        finding.add_remedy(force_zstd(volume.mount, compression, dense));
    }
    if let Some(bytes) = volume.mount.read_ahead_bytes {
        finding.add_evidence(
            "sys/fs/btrfs/UUID/bdi/read_ahead_kb",
            (bytes >> 10).to_string(),
        );
    }
    finding.remedy.extend(smaller_read_ahead(volume.mount));
    finding.add_remedy(Remedy::command(
        "To measure what they gain on this version, on a machine without production data: \
         the space of metric documents, and the time of queries.",
        format!(
            "trimtab bench filesystems --server {}",
            server_operand(
                store.engine.label(),
                store.version.as_deref().unwrap_or("VERSION")
            )
        ),
    ));
    finding
}

/// What Btrfs reads ahead at least, whatever the drive says (`open_ctree` in fs/btrfs/disk-io.c).
const BTRFS_READ_AHEAD_BYTES: u64 = 4 << 20;
/// A drive's own default, `VM_READAHEAD_PAGES` in the kernel.
const DRIVE_READ_AHEAD_BYTES: u64 = 128 << 10;

/// `None` where it is small already; where it cannot be seen, it is what Btrfs sets.
fn smaller_read_ahead(mount: &Mount) -> Option<Remedy> {
    let bytes = mount.read_ahead_bytes.unwrap_or(BTRFS_READ_AHEAD_BYTES);
    if bytes <= DRIVE_READ_AHEAD_BYTES {
        return None;
    }
    let point = operand(&mount.mount_point);
    let set = |bytes: u64| {
        format!(
            "uuid=$(findmnt -fno UUID {point}) &&\n  echo {} >\"/sys/fs/btrfs/$uuid/bdi/read_ahead_kb\"",
            bytes >> 10
        )
    };
    let text = format!(
        "If the data is larger than the page cache: read ahead as far as drives do, 128 KiB instead of {}.{} The \
         setting ends with the mount: put `w /sys/fs/btrfs/UUID/bdi/read_ahead_kb - - - - 128` into a file in \
         /etc/tmpfiles.d as well.",
        units::bytes(bytes),
        if bytes == BTRFS_READ_AHEAD_BYTES {
            " With a page cache of an eighth of the index, 1,000 queries then took 5.7 s instead of 62 s \
             (Elasticsearch 6.8.23)."
        } else {
            ""
        },
    );
    let remedy = Remedy::command(text, set(DRIVE_READ_AHEAD_BYTES))
        .risk("Reading large files from one end to the other (copies of shards, backups) may take longer.")
        .undo(set(bytes));
    Some(remedy)
}

/// Describes the savings of the option in effect.
fn saving(compression: Compression<'_>, dense: Option<bool>) -> &'static str {
    match (compression, dense) {
        (Compression::Forced("zstd" | "zlib"), Some(true)) => "saves about a third",
        (Compression::Forced("zstd" | "zlib"), Some(false)) => "saves about half",
        (Compression::Forced("lzo"), Some(true)) => "saves next to nothing",
        (Compression::Forced("lzo"), Some(false)) => "saves about a quarter",
        (Compression::Tried(_), Some(true)) => "not forced, it saves nothing",
        (Compression::Tried(_), Some(false)) => "not forced, it saves little",
        _ => "what it saves depends on the server's version",
    }
}

fn measured(dense: Option<bool>) -> &'static str {
    match dense {
        Some(true) => {
            "on Elasticsearch 6.8.23 compress=zstd 1.00, compress-force=lzo 0.98, zlib 0.68, zstd \
             0.66; best_compression on XFS 0.67, with zstd 0.52"
        }
        Some(false) => {
            "on Elasticsearch 5.6.16 compress=zstd 0.85, compress-force=lzo 0.75, zlib 0.50, zstd \
             0.47"
        }
        None => "compress-force=zstd 0.47 on Elasticsearch 5.6.16 and 0.66 on 6.8.23",
    }
}

fn force_zstd(mount: &Mount, compression: Compression<'_>, dense: Option<bool>) -> Remedy {
    let point = operand(&mount.mount_point);
    let ratio = match dense {
        Some(false) => "0.47 of the size (Elasticsearch 5.6.16)",
        _ => "0.66 of the size (Elasticsearch 6.8.23)",
    };
    // Options come from the host; only values that Btrfs knows go into a command.
    let undo = match compression {
        Compression::Tried(method @ ("lzo" | "zlib" | "zstd")) => {
            format!("mount -o remount,compress={method} {point}")
        }
        Compression::Forced(method @ ("lzo" | "zlib")) => {
            format!("mount -o remount,compress-force={method} {point}")
        }
        _ => format!("mount -o remount,compress=no {point}"),
    };
    Remedy::command(
        format!(
            "Then, if you are short of space, force zstd (Linux 4.14 and later): {ratio}. Put it \
             into /etc/fstab as well. Existing data stays as it is."
        ),
        format!("mount -o remount,compress-force=zstd {point}"),
    )
    .risk(
        "Writes and reads cost processor time in kernel threads, which no process is charged for; \
         files that do not compress are cut into small extents.",
    )
    .undo(undo)
}

fn under_mongodb(volume: &Volume<'_>, store: &Store, option: &str) -> Finding {
    let mut finding = finding::about_volume(
        &RULE,
        Severity::Info,
        volume,
        format!("Btrfs with {option} compresses MongoDB's data a second time"),
    );
    finding.why = "WiredTiger compresses its blocks itself (snappy by default), so the filesystem \
                   finds little left and spends processor time on trying. Not measured here."
        .into();
    finding.add_evidence(
        "MongoDB: version",
        store.version.as_deref().unwrap_or("unknown"),
    );
    finding.add_remedy(Remedy::advice(
        "Let one of them compress: `storage.wiredTiger.collectionConfig.blockCompressor: zstd` \
         (MongoDB 4.2 and later) instead of the mount option.",
    ));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;

    fn on(options: &str, engine: StoreEngine, version: &str, kernel: &str) -> Outcome {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "btrfs", options)
            .store(engine, version, "/data/db")
            .with(|host| host.platform.kernel_release = Some(kernel.to_owned()))
            .check(&RULE)
    }

    fn title(options: &str, version: &str) -> String {
        let outcome = on(options, StoreEngine::Elasticsearch, version, "6.1.0");
        only(&outcome).title.clone()
    }

    #[test]
    fn the_saving_depends_on_the_servers_version() {
        assert_eq!(
            title("rw,compress-force=zstd:3", "7.17.28"),
            "Btrfs with compress-force=zstd: saves about a third"
        );
        assert_eq!(
            title("rw,compress-force=zstd:3", "5.6.16"),
            "Btrfs with compress-force=zstd: saves about half"
        );
        assert_eq!(
            title("rw,compress-force=lzo", "8.11.0"),
            "Btrfs with compress-force=lzo: saves next to nothing"
        );
        assert_eq!(
            title("rw,compress=zstd:3", "8.11.0"),
            "Btrfs with compress=zstd: not forced, it saves nothing"
        );
        // The last option is in effect.
        assert!(title("rw,compress=lzo,compress-force=zlib", "6.8.23").contains("force=zlib"));
        assert!(title("rw,compress=no", "6.8.23").contains("without compression"));
    }

    #[test]
    fn best_compression_is_ranked_first() {
        let outcome = on("rw", StoreEngine::Opensearch, "2.19.1", "6.1.0");
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.remedy[0].text.contains("best_compression"));
        assert_eq!(
            finding.remedy[1].command.as_deref(),
            Some("mount -o remount,compress-force=zstd /data")
        );
    }

    #[test]
    fn a_large_read_ahead_has_a_remedy() {
        let commands = |read_ahead_kib: Option<u64>| {
            let outcome = TestHost::new()
                .device(nvme("nvme0n1"))
                .mount("/data", "nvme0n1", "btrfs", "rw")
                .store(StoreEngine::Elasticsearch, "7.17.28", "/data/db")
                .with(|host| host.mounts[0].read_ahead_bytes = read_ahead_kib.map(|kib| kib << 10))
                .check(&RULE);
            let remedies = &only(&outcome).remedy;
            let sets = remedies.iter().find(|remedy| {
                let command = remedy.command.as_deref();
                command.is_some_and(|command| command.contains("echo 128 >"))
            });
            sets.map(|remedy| remedy.undo.clone().expect("an undo"))
        };
        assert!(commands(Some(4096)).is_some_and(|undo| undo.contains("echo 4096 >")));
        // What others set is put back as it was.
        assert!(commands(Some(1024)).is_some_and(|undo| undo.contains("echo 1024 >")));
        assert!(commands(None).is_some());
        assert_eq!(commands(Some(128)), None);
    }

    #[test]
    fn kernels_with_known_faults_make_it_a_warning() {
        let severity = |options, kernel| {
            let outcome = on(options, StoreEngine::Elasticsearch, "7.17.28", kernel);
            only(&outcome).severity
        };
        for (options, kernel, expected) in [
            ("rw,compress=zstd", "4.14.107", Severity::Warning),
            ("rw,compress=zstd", "4.14.108", Severity::Info),
            ("rw,compress=zstd", "4.15.18", Severity::Warning),
            ("rw", "4.15.18", Severity::Info),
            ("rw", "5.2.3-1-arch", Severity::Warning),
            ("rw", "5.4.13", Severity::Warning),
            ("rw", "5.4.14", Severity::Info),
            ("rw,compress=zstd", "6.1.0-40-amd64", Severity::Info),
            // The version is not conclusive.
            ("rw", "5.4.0-150-generic", Severity::Info),
            ("rw,compress=zstd", "3.10.0-1160.el7.x86_64", Severity::Info),
        ] {
            assert_eq!(severity(options, kernel), expected, "{kernel}");
        }
    }

    #[test]
    fn mongodb_only_where_the_filesystem_compresses_too() {
        let of = |options| {
            on(options, StoreEngine::Mongodb, "7.0.5", "6.1.0")
                .findings
                .len()
        };
        assert_eq!((of("rw,compress=zstd"), of("rw")), (1, 0));
    }

    #[test]
    fn without_a_store_it_is_silent() {
        let outcome = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "btrfs", "rw,compress=zstd")
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }
}
