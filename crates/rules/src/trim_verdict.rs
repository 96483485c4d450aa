//! Decides whether the filesystem of a mount may be trimmed. The rules of `check` and this verdict
//! use the same discard paths ([`crate::Context::volumes`]), so they cannot disagree.

use crate::context::Context;
use crate::discard_path::takes_discards;
use crate::finding;
use crate::outcome::Outcome;
use crate::rules::{trim001, trim008, trim009, trim010};
use crate::shell::{printable, quote};
use facts::host::Mount;
use facts::{Finding, Host, Severity, Skipped, Stack};

/// Filesystems without FITRIM, and the alternative.
const WITHOUT_FITRIM: &[(&str, &str)] = &[
    ("zfs", "ZFS trims its pool itself: `zpool trim POOL`"),
    ("zfs_member", "ZFS trims its pool itself: `zpool trim POOL`"),
    ("squashfs", "it never changes, and frees nothing"),
    ("erofs", "it never changes, and frees nothing"),
    ("iso9660", "it never changes, and frees nothing"),
    ("udf", "nothing can be done"),
    ("cramfs", "it never changes, and frees nothing"),
    (
        "ext2",
        "mount it as ext4, which supports FITRIM: the kernel's ext4 driver reads ext2",
    ),
    ("reiserfs", "nothing can be done"),
    (
        "fuse",
        "a filesystem in user space gets no FITRIM; mount it with a kernel driver",
    ),
    (
        "fuseblk",
        "a filesystem in user space, such as ntfs-3g, gets no FITRIM; mount it with a kernel driver",
    ),
    ("minix", "nothing can be done"),
    ("hfsplus", "nothing can be done"),
];

/// What the caller knows and requests in addition to the facts.
#[derive(Clone, Copy)]
pub struct TrimRequest<'a> {
    /// Whether to trim although TRIM010 advises against it (`--force`).
    pub force: bool,
    /// Whether a mount point is a directory, which FITRIM requires, or why it must not be looked at;
    /// this crate does not read the host.
    pub is_directory: &'a dyn Fn(&str) -> Result<bool, String>,
}

/// Whether a filesystem may be trimmed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrimVerdict {
    /// The reason to refuse; `None` if the filesystem may be trimmed.
    pub refusal: Option<TrimRefusal>,
    /// Notes that are not a reason to refuse.
    pub notes: Vec<String>,
}

/// Why a filesystem must not or cannot be trimmed.
#[derive(Debug, Clone, PartialEq)]
pub struct TrimRefusal {
    /// The kind of reason.
    pub kind: RefusalKind,
    /// One sentence.
    pub reason: String,
    /// The finding that explains the refusal.
    pub finding: Option<Finding>,
    /// Alternatives, one sentence each.
    pub hints: Vec<String>,
}

/// Kinds of reasons to refuse a trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The filesystem does not support FITRIM.
    NoFitrim,
    /// There is no block device of this host below it.
    NoDevice,
    /// It is mounted read-only.
    ReadOnly,
    /// A filesystem that may not answer is on the way to it.
    MayHang,
    /// A single file is mounted there, not a directory.
    NotADirectory,
    /// The device takes no discards, which is not a fault of this host.
    NothingToTrim,
    /// A layer of the stack refuses discards (TRIM001).
    DiscardsRefused,
    /// Discards were switched off by hand (TRIM009).
    SwitchedOff,
    /// A layer takes discards and does not pass them to any drive (TRIM008).
    DiscardsSwallowed,
    /// It must not be trimmed by hand (TRIM010); [`TrimRequest::force`] overrides this if the
    /// device takes discards.
    NotByHand,
}

impl TrimVerdict {
    /// Whether the filesystem may be trimmed.
    pub fn may_trim(&self) -> bool {
        self.refusal.is_none()
    }
}

impl TrimRefusal {
    fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
            finding: None,
            hints: Vec::new(),
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    fn explained_by(kind: RefusalKind, finding: Finding) -> Self {
        let reason = format!("{}: {}", finding.rule, finding.title);
        Self {
            finding: Some(finding),
            ..Self::new(kind, reason)
        }
    }
}

/// Decides whether the filesystem of `mount` may be trimmed.
pub fn trim_verdict(host: &Host, mount: &Mount, request: &TrimRequest<'_>) -> TrimVerdict {
    let mut verdict = TrimVerdict::default();
    verdict.refusal = match judge_mount(host, mount, request) {
        Err(refusal) => Some(*refusal),
        Ok(stack) => judge_discards(host, mount, &stack, request.force, &mut verdict.notes),
    };
    verdict
}

/// Returns why the discards of a filesystem are lost (TRIM001, TRIM008, TRIM009), to explain a
/// stack that swallowed them during a trim. Sorted by descending severity.
pub fn lost_discards(host: &Host, mount: &Mount) -> Vec<Finding> {
    let context = Context::of_filesystem(host, mount);
    let mut found = Outcome::default();
    for check in [trim001::check, trim008::check, trim009::check] {
        check(&context, &mut found);
    }
    sorted(found.findings)
}

/// Checks the mount itself, before any rule.
fn judge_mount<'a>(
    host: &'a Host,
    mount: &Mount,
    request: &TrimRequest<'_>,
) -> Result<Stack<'a>, Box<TrimRefusal>> {
    let fs_type = mount.fs_type.as_str();
    // FUSE adds a name of its own choice: `fuseblk.ext4`.
    let (kernel_type, _) = fs_type.split_once('.').unwrap_or((fs_type, ""));
    let without = WITHOUT_FITRIM.iter();
    if let Some((_, way_out)) = without.into_iter().find(|(name, _)| *name == kernel_type) {
        let reason = format!("{} does not support FITRIM", printable(fs_type));
        return Err(TrimRefusal::new(RefusalKind::NoFitrim, reason)
            .hint(*way_out)
            .into());
    }
    let Some(stack) = host.stack_of(mount) else {
        let reason = format!(
            "no block device of this host is below it ({} from {})",
            printable(fs_type),
            printable(&mount.source)
        );
        return Err(TrimRefusal::new(RefusalKind::NoDevice, reason)
            .hint("trim it on the host that has the drives")
            .into());
    };
    if mount.is_filesystem_read_only() {
        let reason = "it is mounted read-only: nothing is freed there";
        return Err(TrimRefusal::new(RefusalKind::ReadOnly, reason)
            .hint(
                "the kernel would trim it, but a read-only mount may hold an image or a damaged \
             filesystem; mount it writable first",
            )
            .into());
    }
    let is_directory = (request.is_directory)(&mount.mount_point).map_err(|why| {
        TrimRefusal::new(RefusalKind::MayHang, why)
            .hint("unmount that filesystem, or mount this one elsewhere as well")
    })?;
    if !is_directory {
        let refusal = TrimRefusal::new(
            RefusalKind::NotADirectory,
            "a single file is mounted there, not a directory",
        );
        let directory = host.mounts.iter().find(|other| {
            other.device_number == mount.device_number
                && other.id != mount.id
                && (request.is_directory)(&other.mount_point) == Ok(true)
        });
        return Err(match directory {
            Some(other) => refusal.hint(format!(
                "the same filesystem is mounted on {}: trimtab trim {}",
                printable(&other.mount_point),
                quote(&other.mount_point)
            )),
            None => refusal,
        }
        .into());
    }
    Ok(stack)
}

/// Applies the rules about discards to the stack.
fn judge_discards(
    host: &Host,
    mount: &Mount,
    stack: &Stack<'_>,
    force: bool,
    notes: &mut Vec<String>,
) -> Option<TrimRefusal> {
    let context = Context::of_filesystem(host, mount);
    let mut skipped = Vec::new();
    let mut ask = |check: fn(&Context<'_>, &mut Outcome)| {
        let mut found = Outcome::default();
        check(&context, &mut found);
        skipped.append(&mut found.skipped);
        sorted(found.findings)
    };
    let refused = ask(trim001::check);
    let swallowed = ask(trim008::check);
    let switched_off = ask(trim009::check);
    let not_by_hand = ask(trim010::check);
    let volume = context.volume_on(stack.top());
    if volume.is_some_and(|volume| volume.discards.top_accepts == Some(false)) {
        let explained = [
            (RefusalKind::DiscardsRefused, refused),
            (RefusalKind::SwitchedOff, switched_off),
            (RefusalKind::NotByHand, not_by_hand),
        ];
        let first = explained
            .into_iter()
            .find_map(|(kind, findings)| Some((kind, findings.into_iter().next()?)));
        return Some(match first {
            Some((kind, finding)) => TrimRefusal::explained_by(kind, finding),
            None => nothing_to_trim(stack),
        });
    }
    if let Some(finding) = swallowed.into_iter().next() {
        if is_lost_everywhere(stack, &finding) {
            let kind = RefusalKind::DiscardsSwallowed;
            return Some(TrimRefusal::explained_by(kind, finding));
        }
        notes.push(format!(
            "TRIM008: {}; the other drives below get the discards",
            finding.title
        ));
    }
    for finding in not_by_hand {
        let text = format!("TRIM010: {}", finding.title);
        if finding.severity == Severity::Info {
            notes.push(text);
        } else if force {
            notes.push(format!("{text} (--force)"));
        } else {
            let refusal = TrimRefusal::explained_by(RefusalKind::NotByHand, finding);
            return Some(refusal.hint("--force trims it all the same"));
        }
    }
    notes.extend(skipped.iter().map(describe_skipped));
    None
}

fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    finding::sort(&mut findings);
    findings
}

fn describe_skipped(skipped: &Skipped) -> String {
    let needs = skipped
        .needs
        .as_ref()
        .map_or(String::new(), |needs| format!(" (needs {needs})"));
    format!("{}: unknown, {}{needs}", skipped.what, skipped.why)
}

fn nothing_to_trim(stack: &Stack<'_>) -> TrimRefusal {
    TrimRefusal::new(
        RefusalKind::NothingToTrim,
        format!(
            "{} takes no discards: there is nothing to trim",
            printable(&stack.top().dev_path())
        ),
    )
    .hint(
        "a hard disk, and many a network or virtual disk, has no use for discards; `trimtab check` \
         says where they are lost in between",
    )
}

/// Whether no drive at all gets discards: each one refuses them or is below the layer at fault.
fn is_lost_everywhere(stack: &Stack<'_>, finding: &Finding) -> bool {
    let fault = finding.device.as_deref();
    let is_below_fault = |mut index: usize| {
        loop {
            if Some(stack.layers[index].device.name.as_str()) == fault {
                return true;
            }
            match stack.layers[index].above {
                Some(above) => index = above,
                None => return false,
            }
        }
    };
    stack
        .layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| layer.is_leaf)
        .all(|(index, layer)| takes_discards(layer.device) == Some(false) || is_below_fault(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;
    use crate::{Selection, run};
    use facts::host::Cloud;

    /// Returns the verdict on the first mount; every mount point is a directory.
    fn verdict(host: &Host, force: bool) -> TrimVerdict {
        let request = TrimRequest {
            force,
            is_directory: &|_| Ok(true),
        };
        trim_verdict(host, &host.mounts[0], &request)
    }

    fn refusal(host: &Host) -> TrimRefusal {
        verdict(host, true).refusal.expect("a refusal")
    }

    /// Returns the finding of `check` on the same host.
    fn checked(host: &Host, rule: &str) -> Finding {
        let selection = Selection {
            select: vec![rule.to_owned()],
            ignore: Vec::new(),
        };
        run(host, &selection).findings.remove(0)
    }

    #[test]
    fn a_healthy_stack_may_be_trimmed() {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .build();
        assert_eq!(verdict(&host, false), TrimVerdict::default());
    }

    #[test]
    fn a_filesystem_without_fitrim_is_refused_first() {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "ext2", "ro")
            .build();
        let refusal = refusal(&host);
        assert_eq!(refusal.kind, RefusalKind::NoFitrim);
        assert!(refusal.hints[0].contains("ext4"), "{refusal:?}");
    }

    #[test]
    fn a_read_only_filesystem_is_refused_and_a_read_only_bind_mount_is_not() {
        let host = |options: &str| {
            TestHost::new()
                .device(nvme("nvme0n1"))
                .mount("/data", "nvme0n1", "ext4", options)
                .build()
        };
        assert_eq!(refusal(&host("ro")).kind, RefusalKind::ReadOnly);
        assert!(verdict(&host("ro,relatime,rw"), true).may_trim());
    }

    #[test]
    fn what_may_hang_is_refused_with_the_reason() {
        let host = |fs_type: &str| {
            TestHost::new()
                .device(nvme("nvme0n1"))
                .mount("/data", "nvme0n1", fs_type, "rw")
                .build()
        };
        let request = TrimRequest {
            force: true,
            is_directory: &|_| Err("fuse at / is on the way there".to_owned()),
        };
        let refusal = |host: &Host| trim_verdict(host, &host.mounts[0], &request).refusal;
        let covered = refusal(&host("ext4")).unwrap();
        assert_eq!(covered.kind, RefusalKind::MayHang);
        assert_eq!(covered.reason, "fuse at / is on the way there");
        // It is no ext4, whatever it is called.
        for fs_type in ["fuse.ext4", "fuseblk", "fuseblk.ext4"] {
            let named = refusal(&host(fs_type)).unwrap();
            assert_eq!(named.kind, RefusalKind::NoFitrim, "{fs_type}");
            assert!(named.reason.starts_with(fs_type), "{named:?}");
        }
    }

    #[test]
    fn a_single_file_is_refused_with_the_directory_to_name() {
        let mut host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/etc/hosts", "nvme0n1", "ext4", "rw")
            .build();
        let mut whole = host.mounts[0].clone();
        whole.id += 1;
        "/my data".clone_into(&mut whole.mount_point);
        host.mounts.push(whole);
        let request = TrimRequest {
            force: false,
            is_directory: &|path| Ok(path == "/my data"),
        };
        let verdict = trim_verdict(&host, &host.mounts[0], &request);
        let refusal = verdict.refusal.unwrap();
        assert_eq!(refusal.kind, RefusalKind::NotADirectory);
        assert_eq!(
            refusal.hints,
            ["the same filesystem is mounted on /my data: trimtab trim '/my data'"]
        );
    }

    #[test]
    fn a_device_without_discards_is_refused() {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "c0", "nvme0n1", false))
            .mount("/data", "dm-0", "xfs", "rw")
            .build();
        let found = refusal(&host);
        assert_eq!(found.kind, RefusalKind::DiscardsRefused);
        assert!(found.reason.starts_with("TRIM001: "), "{found:?}");
        assert_eq!(found.finding, Some(checked(&host, "TRIM001")));
        // No rule covers hard disks.
        let host = TestHost::new()
            .device(hard_disk("sda"))
            .mount("/data", "sda", "ext4", "rw")
            .with(|host| host.platform.cloud = Some(Cloud::Other))
            .build();
        let found = refusal(&host);
        assert_eq!(found.kind, RefusalKind::NothingToTrim);
        assert!(found.reason.contains("nothing to trim"), "{found:?}");
    }

    #[test]
    fn switched_off_discards_are_refused_with_a_remedy() {
        let host = TestHost::new()
            .device(with_discard(
                nvme("nvme0n1"),
                limits(512, 0, NVME_MAX_BYTES),
            ))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .build();
        let found = refusal(&host);
        assert_eq!(found.kind, RefusalKind::SwitchedOff);
        assert_eq!(found.finding, Some(checked(&host, "TRIM009")));
    }

    #[test]
    fn swallowed_discards_are_refused_or_noted_if_partial() {
        let pool = thin_pool(
            "dm-3",
            "vg-pool-tpool",
            "dm-1",
            "dm-2",
            &["no_discard_passdown"],
        );
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(lvm_linear("dm-1", "vg-pool_tmeta", &["nvme0n1"]))
            .device(lvm_linear("dm-2", "vg-pool_tdata", &["nvme0n1"]))
            .device(pool)
            .device(thin("dm-4", "vg-thin", "dm-3"))
            .mount("/data", "dm-4", "xfs", "rw")
            .build();
        let found = refusal(&host);
        assert_eq!(found.kind, RefusalKind::DiscardsSwallowed);
        assert_eq!(found.finding, Some(checked(&host, "TRIM008")));
        assert_eq!(
            lost_discards(&host, &host.mounts[0]),
            [checked(&host, "TRIM008")]
        );
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(nvme("nvme1n1"))
            .device(crypt("dm-0", "c0", "nvme1n1", false))
            .device(md("md1", "raid1", &["nvme0n1", "dm-0"]))
            .mount("/data", "md1", "xfs", "rw")
            .build();
        let verdict = verdict(&host, false);
        assert!(verdict.may_trim(), "{verdict:?}");
        assert!(verdict.notes[0].starts_with("TRIM008: "), "{verdict:?}");
    }

    #[test]
    fn trim010_is_refused_unless_forced() {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .with(|host| {
                host.platform.elastic_cloud_enterprise = Some("/mnt/data/elastic".to_owned());
            })
            .build();
        let refused = verdict(&host, false).refusal.unwrap();
        assert_eq!(refused.kind, RefusalKind::NotByHand);
        assert!(refused.reason.starts_with("TRIM010: "), "{refused:?}");
        assert!(refused.hints.iter().any(|hint| hint.contains("--force")));
        let forced = verdict(&host, true);
        assert!(forced.may_trim());
        assert!(forced.notes.iter().any(|note| note.contains("--force")));
    }

    #[test]
    fn another_filesystem_of_the_host_does_not_count() {
        let host = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(crypt("dm-0", "c0", "nvme1n1", false))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .mount("/other", "dm-0", "xfs", "rw")
            .build();
        assert_eq!(verdict(&host, false), TrimVerdict::default());
        assert!(lost_discards(&host, &host.mounts[0]).is_empty());
    }
}
