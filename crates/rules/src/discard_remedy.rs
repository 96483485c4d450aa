//! Describes each layer that loses discards, why it does, and how to make it pass them.

mod description;
mod dm;
mod drive;

pub(crate) use description::{name_of, reason, title};
pub(crate) use drive::switch_on;

use crate::discard_path::{Cause, Fault};
use crate::shell::operand;
use crate::volume::Volume;
use dm::{crypt, dm_parity, is_hidden_volume, lvm_path, md_parity, thin_ignore, thin_passdown};
use drive::{ask_the_host, drive_or_adapter, is_made_by_a_host, scsi_unmap};
use facts::host::{BlockDevice, DeviceKind};
use facts::{Host, Layer, Remedy, Stack};

/// Maximum number of layers at fault listed per mount; further ones are counted.
pub(crate) const FAULTS_MAX: usize = 8;

/// Returns the remedies of several faults below a volume, each once.
pub(crate) fn of_all<'f, 'a: 'f>(
    host: &Host,
    volume: &Volume<'_>,
    faults: impl Iterator<Item = &'f Fault<'a>>,
) -> Vec<Remedy> {
    let mut all = Vec::new();
    for remedy in faults.flat_map(|fault| remedies(host, volume, fault)) {
        if !all.contains(&remedy) {
            all.push(remedy);
        }
    }
    all
}

/// Returns ways to make the layer pass discards, the recommended one first.
fn remedies(host: &Host, volume: &Volume<'_>, fault: &Fault<'_>) -> Vec<Remedy> {
    let mut remedies = match &fault.cause {
        Cause::Crypt { .. } => crypt(host, fault.device),
        Cause::ParityRaid => md_parity(host, volume, fault.device),
        Cause::DmParityRaid => vec![dm_parity(fault.device)],
        Cause::ThinIgnore { .. } => vec![thin_ignore(host, fault.device)],
        Cause::ThinNoPassdown { .. } => vec![thin_passdown(fault.device)],
        Cause::CacheNoPassdown => vec![Remedy::advice(
            "Load the cache's table again without `no_discard_passdown`, and find out which tool \
             put it there.",
        )],
        Cause::SwitchedOff { max_hw_bytes } => vec![switch_on(fault.device, *max_hw_bytes)],
        Cause::VirtioBlk => vec![ask_the_host(host, fault.device)],
        Cause::Provisioning(_) | Cause::Unexplained if is_made_by_a_host(fault.device) => {
            vec![ask_the_host(host, fault.device)]
        }
        Cause::Usb => scsi_unmap(fault.device),
        Cause::Provisioning(_) => {
            let mut remedies = scsi_unmap(fault.device);
            remedies.push(drive_or_adapter(fault.device));
            remedies
        }
        Cause::Blocklisted | Cause::AtaUnsupported => vec![Remedy::advice(
            "Leave part of the drive unpartitioned after a secure erase, so that it keeps spare \
             blocks, and replace it by a model whose TRIM works.",
        )],
        Cause::Unexplained if fault.is_drive => vec![drive_or_adapter(fault.device)],
        Cause::Unexplained => vec![Remedy::advice(
            "Take this layer out of the stack of data that needs trimming (snapshots, mirrors and \
             integrity layers often pass no discards), or move the data to a volume without it.",
        )],
    };
    remedies.extend(reload_above(&volume.stack, fault));
    announce_next(&mut remedies);
    remedies
}

/// Says of remedies that change something which rules apply only afterwards, when discards arrive.
pub(crate) fn announce_next(remedies: &mut [Remedy]) {
    for remedy in remedies.iter_mut().filter(|remedy| remedy.undo.is_some()) {
        remedy.text.push_str(
            " Then check again: TRIM002, TRIM005, TRIM010 and TRIM012 had nothing to look at here \
             until now.",
        );
    }
}

/// Returns the remedy that reloads the layers between the fault and the mount, because layers
/// compute their limits when they are set up.
fn reload_above(stack: &Stack<'_>, fault: &Fault<'_>) -> Option<Remedy> {
    // A pool that is switched through LVM is reactivated together with its volumes.
    let comes_up_with_it = matches!(
        fault.cause,
        Cause::ThinIgnore { .. } | Cause::ThinNoPassdown { .. } | Cause::Blocklisted
    );
    let above: Vec<&BlockDevice> = layers_above(stack, &fault.device.name)
        .map(|layer| layer.device)
        .filter(|device| !matches!(device.kind, DeviceKind::Partition { .. }))
        .collect();
    if comes_up_with_it || fault.swallows || above.is_empty() {
        return None;
    }
    let text = "Then let the layers above compute their limits again, from the lowest to the \
                highest; a reboot does it as well.";
    let lines: Option<Vec<String>> = above
        .iter()
        .map(|device| {
            let path = lvm_path(device).filter(|_| !is_hidden_volume(device))?;
            Some(format!("lvchange --refresh {}", operand(&path)))
        })
        .collect();
    Some(match lines {
        Some(lines) => Remedy::command(text, lines.join("\n")),
        None => Remedy::advice(format!(
            "{text} Here: {}.",
            units::list(&above.into_iter().map(name_of).collect::<Vec<_>>())
        )),
    })
}

/// Returns the layers between a device and the mount, the lowest first.
fn layers_above<'s, 'a>(
    stack: &'s Stack<'a>,
    name: &str,
) -> impl Iterator<Item = &'s Layer<'a>> + use<'s, 'a> {
    let mut at = stack
        .layers
        .iter()
        .find(|layer| layer.device.name == name)
        .and_then(|layer| layer.above);
    std::iter::from_fn(move || {
        let layer = &stack.layers[at?];
        at = layer.above;
        Some(layer)
    })
}

#[cfg(test)]
mod tests {
    use super::remedies;
    use crate::context::Context;
    use crate::test_host::*;
    use facts::host::{DeviceKind, ProvisioningMode, ScsiTransport};
    use facts::{Host, Remedy};
    use std::process::Command;

    /// Returns the remedies for the first fault below the first mount. Checks that bash can parse
    /// every command.
    fn remedies_of(host: &Host) -> Vec<Remedy> {
        let cx = Context::new(host);
        let volume = &cx.volumes[0];
        let fault = volume.discards.faults.first().expect("a fault");
        let remedies = remedies(host, volume, fault);
        for remedy in &remedies {
            let Some(script) = &remedy.command else {
                continue;
            };
            if let Ok(status) = Command::new("bash").args(["-n", "-c", script]).status() {
                assert!(status.success(), "{script}");
            }
        }
        remedies
    }

    fn command(remedies: &[Remedy], index: usize) -> &str {
        remedies[index].command.as_deref().expect("a command")
    }

    #[test]
    fn luks2_is_refreshed_in_place() {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "c0", "nvme0n1", false))
            .mount("/data", "dm-0", "xfs", "rw")
            .build();
        let remedies = remedies_of(&host);
        assert_eq!(remedies.len(), 1);
        assert_eq!(
            command(&remedies, 0),
            "cryptsetup refresh --allow-discards --persistent c0"
        );
        assert_eq!(
            remedies[0].undo.as_deref(),
            Some("cryptsetup refresh --persistent c0")
        );
    }

    #[test]
    fn luks1_needs_crypttab_for_the_next_boot() {
        let mut volume = crypt("dm-0", "c0", "nvme0n1", false);
        if let DeviceKind::DeviceMapper { uuid, .. } = &mut volume.kind {
            *uuid = Some("CRYPT-LUKS1-7d0cd2ef-c0".to_owned());
        }
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(volume)
            .mount("/data", "dm-0", "xfs", "rw")
            .with(|host| {
                host.crypttab.push(facts::host::Crypttab {
                    line: 3,
                    name: "c0".to_owned(),
                    device: "/dev/nvme0n1".to_owned(),
                    options: vec!["luks".to_owned()],
                });
            })
            .build();
        let remedies = remedies_of(&host);
        assert_eq!(
            command(&remedies, 0),
            "cryptsetup refresh --allow-discards c0"
        );
        assert!(remedies[1].text.contains("line 3 of /etc/crypttab"));
    }

    #[test]
    fn lvm_above_a_fixed_layer_is_refreshed() {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "c0", "nvme0n1", false))
            .device(with_discard(
                lvm_linear("dm-1", "my--vg-data", &["dm-0"]),
                no_discards(),
            ))
            .mount("/data", "dm-1", "xfs", "rw")
            .build();
        let remedies = remedies_of(&host);
        assert_eq!(command(&remedies, 1), "lvchange --refresh my-vg/data");
    }

    #[test]
    fn an_ignoring_pool_is_reactivated_with_its_volumes() {
        let host = TestHost::new()
            .device(nvme("nvme1n1"))
            .device(lvm_linear("dm-1", "vg-pool_tmeta", &["nvme1n1"]))
            .device(lvm_linear("dm-2", "vg-pool_tdata", &["nvme1n1"]))
            .device(thin_pool(
                "dm-3",
                "vg-pool-tpool",
                "dm-1",
                "dm-2",
                &["ignore_discard"],
            ))
            .device(with_discard(thin("dm-4", "vg-thin", "dm-3"), no_discards()))
            .mount("/mnt/t", "dm-4", "ext4", "rw")
            .build();
        let remedies = remedies_of(&host);
        assert_eq!(remedies.len(), 1);
        assert_eq!(
            command(&remedies, 0),
            "umount /mnt/t &&\nlvchange -an vg/thin &&\nlvchange -an vg/pool &&\n\
             lvchange --discards passdown vg/pool &&\nlvchange -ay vg/pool &&\n\
             lvchange -ay vg/thin &&\nmount /dev/mapper/vg-thin /mnt/t"
        );
    }

    #[test]
    fn a_parity_array_checks_its_drives_first() {
        let host = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1"), sata("sda")])
            .device(md("md5", "raid5", &["nvme0n1", "nvme1n1", "sda"]))
            .mount("/data", "md5", "xfs", "rw")
            .build();
        let remedies = remedies_of(&host);
        assert_eq!(command(&remedies, 0).lines().count(), 3);
        assert!(
            command(&remedies, 1)
                .contains("mdadm --assemble /dev/md5 /dev/nvme0n1 /dev/nvme1n1 /dev/sda")
        );
        assert!(remedies[1].risk.is_some() && remedies[1].undo.is_some());
    }

    #[test]
    fn usb_unmap_is_enabled_only_after_a_check() {
        let disk = provisioning(
            scsi("sdb", "Samsung", "Portable SSD T5", ScsiTransport::Usb),
            ProvisioningMode::Full,
        );
        let host = TestHost::new()
            .device(disk)
            .mount("/backup", "sdb", "ext4", "rw")
            .build();
        let remedies = remedies_of(&host);
        assert_eq!(command(&remedies, 0), "sg_vpd --page=lbpv /dev/sdb");
        assert_eq!(
            command(&remedies, 1),
            "echo unmap | tee /sys/block/sdb/device/scsi_disk/*/provisioning_mode"
        );
        assert!(command(&remedies, 2).contains("ATTRS{model}==\"Portable SSD T5*\""));
    }

    #[test]
    fn hostile_names_stay_inside_their_quotes() {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "x'; reboot\u{1b}[2J; '", "nvme0n1", false))
            .mount("/data", "dm-0", "xfs", "rw")
            .build();
        let remedies = remedies_of(&host);
        assert_eq!(
            command(&remedies, 0),
            r"cryptsetup refresh --allow-discards --persistent $'x\'; reboot\x1b[2J; \''"
        );
    }

    #[test]
    fn hidden_lvm_layers_are_not_passed_to_lvm() {
        let lv =
            |name, dm_name, below| with_discard(lvm_linear(name, dm_name, &[below]), no_discards());
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(crypt("dm-0", "c0", "nvme0n1", false))
            .device(lv("dm-1", "vg-data", "dm-0"))
            .device(lv("dm-2", "vg-pool_tdata", "dm-0"))
            .mount("/data", "dm-1", "xfs", "rw")
            .mount("/thin", "dm-2", "xfs", "rw")
            .build();
        let cx = Context::new(&host);
        let of = |mount: usize| {
            let volume = &cx.volumes[mount];
            let fault = &volume.discards.faults[0];
            remedies(&host, volume, fault).pop().expect("a remedy")
        };
        assert_eq!(of(0).command.as_deref(), Some("lvchange --refresh vg/data"));
        assert_eq!(of(1).command, None);
    }

    #[test]
    fn a_memory_card_has_no_adapter() {
        let mut card = with_discard(nvme("mmcblk0"), no_discards());
        card.kind = DeviceKind::Mmc;
        let mut xen = with_discard(virtio("xvda"), no_discards());
        xen.kind = DeviceKind::Xen;
        for (drive, word) in [(card, "card"), (xen, "host's administrator")] {
            let name = drive.name.clone();
            let host = TestHost::new()
                .device(drive)
                .mount("/", &name, "ext4", "rw")
                .build();
            let text = &remedies_of(&host)[0].text;
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn old_kernels_cannot_discard_on_virtio_blk() {
        let host = TestHost::new()
            .device(with_discard(virtio("vda"), no_discards()))
            .mount("/data", "vda", "xfs", "rw")
            .with(|host| host.platform.kernel_release = Some("4.4.0-21-generic".to_owned()))
            .build();
        assert!(remedies_of(&host)[0].text.contains("from Linux 5.0 on"));
    }
}
