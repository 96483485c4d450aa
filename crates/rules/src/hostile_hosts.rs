//! Property test: whatever a bundle contains, no rule panics, and no control character reaches a
//! command or a title.

use crate::test_host::*;
use crate::{Selection, run};
use facts::Host;
use facts::host::{
    AtaTrim, BlockDevice, Cloud, DeviceKind, DiscardLimits, FsGeometry, ProvisioningMode,
    ScsiTransport, StoreEngine,
};
use proptest::prelude::*;

/// Generates hostile names, and plain ones so that devices refer to each other.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-d]",
        1 => "[\\x00-\\x7f\u{202e}\u{1b}']{0,8}",
        1 => "-[a-z]{0,3}",
        1 => "[a-z]{1,2}-{1,3}[a-z]{0,3}(-tpool)?",
    ]
}

fn limit() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        Just(None),
        Just(Some(0)),
        Just(Some(512)),
        Just(Some(u64::MAX)),
    ]
}

fn kind() -> impl Strategy<Value = DeviceKind> {
    let scsi = (
        name(),
        prop_oneof![
            Just(ScsiTransport::Ata),
            Just(ScsiTransport::Usb),
            Just(ScsiTransport::Virtio),
            Just(ScsiTransport::Network),
            Just(ScsiTransport::Other),
        ],
        proptest::option::of(prop_oneof![
            Just(ProvisioningMode::Full),
            Just(ProvisioningMode::Unmap),
            Just(ProvisioningMode::Disabled),
        ]),
        proptest::option::of(prop_oneof![
            Just(AtaTrim::Unsupported),
            Just(AtaTrim::ForcedUnqueued),
            Just(AtaTrim::ForcedUnsupported),
        ]),
    )
        .prop_map(
            |(model, transport, provisioning_mode, ata_trim)| DeviceKind::Scsi {
                vendor: Some("ATA".to_owned()),
                model: Some(model),
                revision: None,
                provisioning_mode,
                transport,
                ata_trim,
                ata_device: None,
            },
        );
    let nvme =
        (name(), proptest::option::of(Just("tcp".to_owned()))).prop_map(|(model, transport)| {
            DeviceKind::Nvme {
                model: Some(model),
                firmware: None,
                serial: None,
                transport,
            }
        });
    let md = (
        prop_oneof!["raid[0-9]{1,2}", name()],
        limit(),
        proptest::option::of(0_u32..5),
    )
        .prop_map(|(level, chunk_bytes, raid_disks)| DeviceKind::Md {
            level: Some(level),
            chunk_bytes,
            raid_disks,
            array_state: None,
            sync_action: None,
        });
    prop_oneof![
        3 => dm_kind(),
        1 => md,
        1 => scsi,
        1 => nvme,
        1 => Just(DeviceKind::VirtioBlk { serial: None }),
        1 => proptest::option::of(name())
            .prop_map(|backing_file| DeviceKind::Loop { backing_file }),
        1 => proptest::option::of(any::<u64>())
            .prop_map(|start_bytes| DeviceKind::Partition { start_bytes }),
        1 => proptest::option::of(name()).prop_map(|backing| DeviceKind::Bcache { backing }),
    ]
}

fn dm_kind() -> impl Strategy<Value = DeviceKind> {
    let table = (
        prop_oneof![
            Just("crypt"),
            Just("thin-pool"),
            Just("thin"),
            Just("linear"),
            Just("striped"),
            Just("raid"),
            Just("vdo"),
            Just("cache"),
            Just("snapshot"),
        ],
        prop_oneof![
            Just(vec![]),
            Just(vec!["no_discard_passdown"]),
            Just(vec!["ignore_discard"]),
            Just(vec!["raid5_ls"]),
        ],
        limit(),
        proptest::option::of(0_u32..5),
    )
        .prop_map(|(target_type, words, chunk_bytes, stripes)| {
            let mut table = target(target_type, &["a", "b"], &words);
            table.chunk_bytes = chunk_bytes;
            table.stripes = stripes;
            table
        });
    (
        proptest::option::of(name()),
        proptest::option::of(prop_oneof![
            Just("CRYPT-LUKS1-x".to_owned()),
            Just("CRYPT-LUKS2-x".to_owned()),
            Just("CRYPT-PLAIN-x".to_owned()),
            Just("LVM-x".to_owned()),
            Just("LVM-x-tpool".to_owned()),
            name(),
        ]),
        proptest::option::of(proptest::collection::vec(table, 0..3)),
    )
        .prop_map(|(name, uuid, targets)| DeviceKind::DeviceMapper {
            name,
            uuid,
            targets,
        })
}

fn block_device() -> impl Strategy<Value = BlockDevice> {
    (
        name(),
        kind(),
        proptest::collection::vec(name(), 0..3),
        proptest::option::of((limit(), limit())),
        limit(),
    )
        .prop_map(|(name, kind, below, discard, size_bytes)| {
            let below: Vec<&str> = below.iter().map(String::as_str).collect();
            let mut made = device(&name, kind, &below);
            made.size_bytes = size_bytes;
            made.discard = discard.map(|(max_bytes, max_hw_bytes)| DiscardLimits {
                granularity_bytes: None,
                max_bytes,
                max_hw_bytes,
            });
            made
        })
}

fn options() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just("rw".to_owned()),
            Just("ro".to_owned()),
            Just("discard".to_owned()),
            Just("nobarrier".to_owned()),
            Just("autodefrag".to_owned()),
            "(compress|compress-force|barrier|sunit|swidth|stripe)=[a-z0-9\u{1b}]{0,20}",
            name(),
        ],
        0..5,
    )
    .prop_map(|words| words.join(","))
}

prop_compose! {
    fn host()(
        devices in proptest::collection::vec(block_device(), 1..8),
        mounts in proptest::collection::vec(
            (
                0_usize..8,
                name(),
                prop_oneof![Just("xfs"), Just("ext4"), Just("btrfs")],
                options(),
            ),
            0..4,
        ),
        engine in prop_oneof![
            Just(StoreEngine::Elasticsearch),
            Just(StoreEngine::Mongodb),
            name().prop_map(StoreEngine::Other),
        ],
        version in name(),
        kernel in proptest::option::of("[0-9.]{0,12}"),
        geometry in proptest::option::of((any::<u64>(), any::<u64>())),
        is_cloud in any::<bool>(),
        issue_discards in proptest::option::of(any::<bool>()),
    ) -> Host {
        let names: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
        let mut host = TestHost::new().devices(devices);
        for (index, point, fs_type, options) in mounts {
            let device = &names[index % names.len()];
            let mount_point = format!("/{point}");
            host = host
                .mount(&mount_point, device, fs_type, &options)
                .store(engine.clone(), &version, &format!("{mount_point}/data"));
        }
        host.with(|host| {
            host.platform.kernel_release = kernel;
            host.platform.cloud = is_cloud.then_some(Cloud::Aws);
            host.lvm_issue_discards = issue_discards;
            for mount in &mut host.mounts {
                mount.geometry = geometry.map(|(block_bytes, group_bytes)| FsGeometry::Ext4 {
                    block_bytes,
                    group_bytes,
                });
            }
        })
        .build()
    }
}

proptest! {
    #[test]
    fn no_rule_panics_and_no_control_character_gets_out(host in host()) {
        for finding in run(&host, &Selection::default()).findings {
            let rule = &finding.rule;
            let words = [&finding.title, &finding.why, &finding.subject];
            for text in words.into_iter().chain(finding.remedy.iter().map(|r| &r.text)) {
                prop_assert!(!text.chars().any(char::is_control), "{rule}: {text:?}");
            }
            for remedy in &finding.remedy {
                for command in [&remedy.command, &remedy.undo].into_iter().flatten() {
                    let is_foul = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
                    prop_assert!(!command.chars().any(is_foul), "{rule}: {command:?}");
                }
            }
        }
    }
}
