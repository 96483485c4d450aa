//! Trims that are not this host's to make, or not by writing to its `/etc`.

use super::parts::{FIRST_PASS, put_in_yours};
use crate::quiet_slot::QuietSlot;
use crate::shell;
use facts::Remedy;
use facts::host::Platform;

/// Where kubelet mounts the volumes of pods, and of the nodes' storage plugins.
const KUBELET: &str = "/var/lib/kubelet/";

/// What follows where the trims of others do not show.
const UNSEEN: &str =
    "`trimtab check` cannot see from this system who trims it: suppress its finding then.";

/// Returns the fix where somebody or something else has to trim; `None` where a job of this host can.
pub(crate) fn elsewhere(
    platform: &Platform,
    mount_points: &[&str],
    slot: QuietSlot,
) -> Option<Remedy> {
    if is_wsl(platform) {
        let compact = compact_vhdx();
        return Some(Remedy {
            text: format!(
                "A timer runs only while WSL does. Trim by hand, in a quiet period: `fstrim --verbose {}`. {} \
                 {UNSEEN}",
                shell::printable(mount_points.first().unwrap_or(&"/")),
                compact.text
            ),
            ..compact
        });
    }
    let (text, risk) = if let Some(container) = &platform.container {
        let container = shell::printable(container);
        let text = format!(
            "In a container ({container}) the kernel refuses to trim. Have the host's administrator \
             trim the filesystem there, in a quiet period: on Proxmox by `pct fstrim ID`, elsewhere by \
             fstrim or `trimtab trim` on the host. {UNSEEN}"
        );
        (text, FIRST_PASS)
    } else if mount_points.iter().any(|point| point.starts_with(KUBELET)) {
        let text = format!(
            "It is a volume of Kubernetes, whose path here lasts only as long as its pod. Let the \
             storage system trim it: Longhorn by a RecurringJob with the task `filesystem-trim`, \
             drivers with csi-addons by a ReclaimSpaceCronJob; at a quiet time, and another one for \
             each replica. {UNSEEN}"
        );
        (text, FIRST_PASS)
    } else if platform.distribution.as_deref() == Some("nixos") {
        let text = format!(
            "NixOS makes /etc anew at each rebuild, so the job belongs into its configuration: \
             `systemd.services.trim = {{ startAt = \"{}\"; serviceConfig.Type = \"oneshot\"; \
             serviceConfig.ExecStart = \"/PATH/TO/trimtab trim --window {} {}\"; }};`. {}",
            slot.calendar(),
            slot.window(),
            shell::printable(&mount_points.join(" ")),
            put_in_yours(&slot.window_words())
        );
        let risk = "The first pass has all free space to discard: what does not fit into one window is \
                    resumed in the next.";
        (text, risk)
    } else {
        return None;
    };
    Some(Remedy::advice(text).risk(risk))
}

/// Makes the file behind a disk of WSL smaller.
pub(crate) fn compact_vhdx() -> Remedy {
    Remedy::advice(
        "The disk is a VHDX file of Windows, which trims the drive below by itself. The file gets smaller if WSL \
         is stopped (`wsl --shutdown`) and Windows compacts it: `Optimize-VHD -Path FILE.vhdx -Mode Full` in an \
         administrator's PowerShell with Hyper-V.",
    )
    .risk(
        "Have a backup. A sparse file (`wsl --manage NAME --set-sparse true`) would shrink by itself, but \
         Microsoft switched that off, since it may corrupt data.",
    )
}

/// Whether this is a Linux below Windows, which mounts the root filesystem itself, with `discard`, whatever
/// fstab says.
pub(crate) fn is_wsl(platform: &Platform) -> bool {
    platform.container.as_deref() == Some("wsl")
}

#[cfg(test)]
mod tests {
    use crate::rules::{trim002, trim003, trim004};
    use crate::test_host::{TestHost, nvme, only};
    use crate::test_jobs::{fstab, fstrim_timer, jobs, with_state};
    use facts::Remedy;
    use facts::host::EnabledState;

    fn texts(remedies: &[Remedy]) -> Vec<&str> {
        assert!(remedies.iter().all(|remedy| remedy.command.is_none()));
        remedies.iter().map(|remedy| remedy.text.as_str()).collect()
    }

    fn host(mount_point: &str) -> TestHost {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount(mount_point, "nvme0n1", "xfs", "rw")
            .elasticsearch(mount_point)
    }

    #[test]
    fn in_a_container_the_host_trims() {
        let outcome = host("/data")
            .with(jobs(Vec::new()))
            .with(|host| host.platform.container = Some("lxc".to_owned()))
            .check(&trim002::RULE);
        let texts = texts(&only(&outcome).remedy);
        assert!(
            texts.len() == 1 && texts[0].contains("pct fstrim"),
            "{texts:?}"
        );
    }

    #[test]
    fn in_wsl_the_disk_is_a_file_of_windows() {
        let wsl = |options: &str| {
            TestHost::new()
                .device(nvme("nvme0n1"))
                .mount("/", "nvme0n1", "ext4", options)
                .elasticsearch("/data")
                .with(fstab(&[("/", "discard,errors=remount-ro")]))
                .with(|host| host.platform.container = Some("wsl".to_owned()))
        };
        let outcome = wsl("rw").with(jobs(Vec::new())).check(&trim002::RULE);
        let texts = texts(&only(&outcome).remedy);
        assert!(
            texts.len() == 1 && texts[0].contains("Optimize-VHD"),
            "{texts:?}"
        );
        let outcome = wsl("rw,discard")
            .with(jobs(vec![fstrim_timer()]))
            .check(&trim004::RULE);
        let commands: Vec<&str> = only(&outcome)
            .remedy
            .iter()
            .filter_map(|remedy| remedy.command.as_deref())
            .collect();
        assert!(
            commands.len() == 1 && commands[0].contains("X-fstrim.notrim"),
            "{commands:?}"
        );
    }

    #[test]
    fn on_flatcar_what_is_written_belongs_into_butane() {
        let outcome = host("/data")
            .with(jobs(Vec::new()))
            .with(|host| {
                host.platform.distribution = Some("flatcar".to_owned());
                host.platform.systemd = Some(true);
            })
            .check(&trim002::RULE);
        let risk = only(&outcome).remedy[0].risk.as_deref().expect("one");
        assert!(risk.contains("Butane"), "{risk}");
    }

    #[test]
    fn a_volume_of_kubernetes_is_its_storage_systems() {
        let point = "/var/lib/kubelet/plugins/kubernetes.io/csi/driver.longhorn.io/1/globalmount";
        let outcome = host(point).with(jobs(Vec::new())).check(&trim002::RULE);
        let texts = texts(&only(&outcome).remedy);
        assert!(
            texts.len() == 1 && texts[0].contains("filesystem-trim"),
            "{texts:?}"
        );
    }

    #[test]
    fn nixos_is_told_in_its_own_words() {
        let off = with_state(fstrim_timer(), EnabledState::Disabled, Some(false));
        for (job, rule) in [(vec![], &trim002::RULE), (vec![off], &trim003::RULE)] {
            let outcome = host("/data")
                .with(jobs(job))
                .with(|host| host.platform.distribution = Some("nixos".to_owned()))
                .check(rule);
            let texts = texts(&only(&outcome).remedy);
            assert!(
                texts.len() == 1 && texts[0].contains("trimtab trim --window 03:00-05:00 /data"),
                "{texts:?}"
            );
        }
    }
}
