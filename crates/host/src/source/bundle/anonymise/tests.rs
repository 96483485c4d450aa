use super::*;
use crate::source::{Kind, Stat};
use proptest::prelude::*;

const SALT: [u8; 16] = *b"0123456789abcdef";

fn recording(files: &[(&str, &str)]) -> Recording {
    let mut recording = Recording::default();
    for (path, text) in files {
        let bytes = text.as_bytes().to_vec();
        recording.files.insert((*path).to_owned(), Ok(bytes));
    }
    recording
}

fn text_of(recording: &Recording, path: &str) -> String {
    let Some(Ok(bytes)) = recording.files.get(path) else {
        panic!("{path} is not in {recording:?}");
    };
    String::from_utf8(bytes.clone()).unwrap()
}

/// Anonymizes one file together with others that show what its names are.
fn anonymised(files: &[(&str, &str)], path: &str) -> String {
    text_of(&anonymise(recording(files), &SALT), path)
}

const HOST: (&str, &str) = ("proc/sys/kernel/hostname", "db1.prod.example.com\n");

#[test]
fn a_host_gets_the_same_name_everywhere() {
    let files = [
        HOST,
        (
            "etc/elasticsearch/elasticsearch.yml",
            "\"node.name\": \"db1\"\n\"path.data\": \"/srv/db1/data\"\n",
        ),
        (
            "proc/self/mountinfo",
            "30 1 0:40 / /srv/db1 rw - nfs4 db1.prod.example.com:/x rw\n\
             31 1 253:0 / / rw - xfs /dev/mapper/rhel_db1-root rw\n",
        ),
    ];
    let made = anonymise(recording(&files), &SALT);
    assert_eq!(text_of(&made, files[0].0), "host1.domain1\n");
    assert_eq!(
        text_of(&made, files[1].0),
        "\"node.name\": \"host1\"\n\"path.data\": \"/srv/host1/data\"\n"
    );
    assert_eq!(
        text_of(&made, files[2].0),
        "30 1 0:40 / /srv/host1 rw - nfs4 host1.domain1:/x rw\n\
         31 1 253:0 / / rw - xfs /dev/mapper/rhel_host1-root rw\n"
    );
}

#[test]
fn the_wwid_of_a_multipath_map_is_a_serial_number() {
    let wwid = "360050768018085b4c000000000000abc";
    let uuid = format!("mpath-{wwid}\n");
    let part = format!("part1-mpath-{wwid}\n");
    let name = format!("mpatha-{wwid}\n");
    let mountinfo = format!("30 1 253:0 / /data rw - xfs /dev/mapper/mpatha-{wwid} rw\n");
    let files = [
        ("sys/block/dm-0/dm/uuid", uuid.as_str()),
        ("sys/block/dm-1/dm/uuid", &part),
        ("sys/block/dm-0/dm/name", &name),
        (
            "sys/block/sda/device/wwid",
            "naa.60050768018085b4c000000000000abc\n",
        ),
        ("proc/self/mountinfo", &mountinfo),
        (
            "etc/fstab",
            "/dev/disk/by-id/dm-uuid-mpath-360050768018085b4c000000000000abc /data xfs\n",
        ),
    ];
    let made = anonymise(recording(&files), &SALT);
    for (path, _) in files {
        let text = text_of(&made, path);
        assert!(!text.contains("60050768018085b4c"), "{path}: {text}");
    }
    assert!(text_of(&made, files[0].0).starts_with("mpath-serial"));
}

#[test]
fn a_host_without_a_name_stays_nameless() {
    for name in ["(none)\n", "localhost.localdomain\n", "localhost\n", "\n"] {
        let files = [(HOST.0, name)];
        assert_eq!(anonymised(&files, HOST.0), name);
    }
}

#[test]
fn every_form_of_a_hyphen_is_recognized() {
    let path = "proc/self/mountinfo";
    let files = [
        ("proc/sys/kernel/hostname", "es-node-7\n"),
        (
            path,
            "/dev/mapper/vg--es--node--7-data data-es\\x2dnode\\x2d7.mount /dev/vg-es-node-7/data",
        ),
    ];
    assert_eq!(
        anonymised(&files, path),
        "/dev/mapper/vg--host1-data data-host1.mount /dev/vg-host1/data"
    );
}

#[test]
fn other_hosts_of_a_known_domain_are_found() {
    let path = "etc/cron.d/sync";
    let files = [
        HOST,
        (
            path,
            "0 1 * * * root rsync /srv web7.prod.example.com:/srv\n",
        ),
    ];
    let made = anonymised(&files, path);
    let number = |name: &str| made.contains(&format!("{name}.domain1:/srv"));
    assert!(number("host1") || number("host2"), "{made}");
    assert!(!made.contains("web7"));
}

#[test]
fn hosts_stand_in_settings_arguments_and_mounts() {
    for (path, text, gone) in [
        (
            "etc/opensearch/opensearch.yml",
            "\"discovery.seed_hosts[0]\": \"alpha:9300\"\n",
            "alpha",
        ),
        (
            "etc/mongod.conf",
            "\"net.bindIp\": \"localhost,alpha\"\n",
            "alpha",
        ),
        (
            "etc/mongod.conf",
            "\"replication.replSetName\": \"alpha\"\n",
            "alpha",
        ),
        ("proc/7/cmdline", "java\0-Ecluster.name=alpha\0", "alpha"),
        ("proc/7/cmdline", "java\0-E\0node.name=alpha\0", "alpha"),
        ("proc/7/cmdline", "mongod\0--replSet\0alpha\0", "alpha"),
        (
            "proc/7/cmdline",
            "mongos\0--configdb=rs/alpha:27019\0",
            "alpha",
        ),
        ("etc/fstab", "alpha:/x /mnt nfs ro 0 0\n", "alpha"),
        ("etc/fstab", "//alpha/share /mnt cifs ro 0 0\n", "alpha"),
        ("etc/fstab", "mon1,alpha:/ /mnt ceph ro 0 0\n", "mon1"),
        (
            "etc/fstab",
            "alpha@far:/x /mnt fuse.sshfs ro 0 0\n",
            "alpha",
        ),
    ] {
        let files = [(path, text), ("etc/cron.d/x", "# alpha mon1\n")];
        let made = anonymise(recording(&files), &SALT);
        assert!(!text_of(&made, path).contains(gone), "{made:?}");
        // It is a single name in all files.
        assert!(!text_of(&made, "etc/cron.d/x").contains(gone), "{made:?}");
    }
}

#[test]
fn users_are_found_and_those_of_packages_stay() {
    let mut before = recording(&[
        (
            "etc/crontab",
            "# m h dom mon dow user command\nSHELL=/bin/sh\n17 * * * * root cd /\n\
             0 5 * * 1 bob /home/carol/bin/dump\n@daily dave /opt/x\n",
        ),
        (
            "etc/systemd/system/dump.service",
            "[Service]\nUser=erin\nGroup=mongodb\n",
        ),
        (
            "var/spool/cron/crontabs/frank",
            "0 1 * * * /home/frank/x --as frank\n",
        ),
    ]);
    before.lists.insert(
        "var/spool/cron/crontabs".to_owned(),
        Ok(vec!["frank".to_owned(), "root".to_owned()]),
    );
    before.commands.insert(
        "systemctl_show".to_owned(),
        Ok(b"Id=x.service\nUser=erin\n".to_vec()),
    );
    let made = format!("{:?}", anonymise(before.clone(), &SALT));
    for name in ["bob", "carol", "dave", "erin", "frank"] {
        assert!(!made.contains(name), "{name} in {made}");
    }
    let made = anonymise(before, &SALT);
    let crontab = text_of(&made, "etc/crontab");
    assert!(crontab.contains("17 * * * * root cd /\n"), "{crontab}");
    let unit = text_of(&made, "etc/systemd/system/dump.service");
    assert!(unit.ends_with("Group=mongodb\n"), "{unit}");
    // The file, its name in the listing and the path in its contents agree.
    let (path, _) = made
        .files
        .iter()
        .find(|(path, _)| path.starts_with("var/spool/"))
        .unwrap();
    let user = path.rsplit('/').next().unwrap();
    assert_eq!(
        text_of(&made, path),
        format!("0 1 * * * /home/{user}/x --as {user}\n")
    );
    assert_eq!(
        made.lists["var/spool/cron/crontabs"],
        Ok(vec!["root".to_owned(), user.to_owned()])
    );
}

#[test]
fn a_user_named_like_an_attribute_leaves_attributes_alone() {
    let files = [
        ("etc/crontab", "0 1 * * * max /x/max\n"),
        ("sys/block/sda/queue/discard_max_bytes", "0\n"),
        ("etc/mongod.conf", "\"net.max\": \"max\"\n"),
    ];
    let made = anonymise(recording(&files), &SALT);
    assert_eq!(text_of(&made, "etc/crontab"), "0 1 * * * user1 /x/user1\n");
    assert_eq!(
        text_of(&made, "sys/block/sda/queue/discard_max_bytes"),
        "0\n"
    );
    assert_eq!(
        text_of(&made, "etc/mongod.conf"),
        "\"net.max\": \"user1\"\n"
    );
    // Words that are part of the file formats are always kept.
    let files = [("etc/crontab", "0 1 * * * data /srv/data\n")];
    assert_eq!(anonymised(&files, "etc/crontab"), files[0].1);
    let mut devices = recording(&[("etc/crontab", "0 1 * * * sdq /dev/sdq\n")]);
    devices
        .lists
        .insert("sys/block".to_owned(), Ok(vec!["sdq".to_owned()]));
    let made = anonymise(devices.clone(), &SALT);
    assert_eq!(made, devices);
}

#[test]
fn addresses_stay_addresses() {
    let path = "etc/fstab";
    let fstab = "192.168.7.9:/x /a nfs addr=192.168.7.9,ro 0 0\n\
                 [2001:db8::7]:/x /b nfs clientaddr=2001:db8::7 0 0\n\
                 127.0.0.1 ::1 0.0.0.0 255.255.255.0 127.0.1.1 169.254.169.254\n\
                 192.168.7.9:9200 192.168.7.9-192.168.7.9 ip-192.168.7.9:3260-iscsi\n\
                 00:16:3e:AA:bb:01 50:01:43:80:02:a3:00:01\n";
    assert_eq!(
        anonymised(&[(path, fstab)], path),
        "10.0.0.1:/x /a nfs addr=10.0.0.1,ro 0 0\n\
         [fd00::1]:/x /b nfs clientaddr=fd00::1 0 0\n\
         127.0.0.1 ::1 0.0.0.0 255.255.255.0 127.0.1.1 169.254.169.254\n\
         10.0.0.1:9200 10.0.0.1-10.0.0.1 ip-10.0.0.1:3260-iscsi\n"
            .to_owned()
            + &{
                // Two names of one kind: which comes first depends on the salt.
                let made = anonymised(&[(path, fstab)], path);
                let last = made.lines().last().unwrap().to_owned();
                let mac = |number: u8| format!("02:00:00:00:00:{number:02x} ");
                let wwn = |number: u8| format!("02:00:00:00:00:00:00:{number:02x}");
                assert!(
                    last == mac(1) + &wwn(2) || last == mac(2) + &wwn(1),
                    "{last}"
                );
                last + "\n"
            }
    );
}

#[test]
fn lookalikes_of_identifiers_are_kept() {
    let text = "6.1.0-56-amd64 elasticsearch-7.17.28.1.jar lib_1.2.3.4 v1.2.3.4 1.2.3.4.5 1.2.3.4-5\n\
                999.1.1.1 01.2.3.4 12:30:45 0000:00:04.0 0:0:0:0 8:16 259:0 ext4 a::b:: aes-xts-plain64\n\
                00000000-0000-0000-0000-000000000000 00:00:00:00:00:00 ff:ff:ff:ff:ff:ff\n\
                2026-11-21T05:00:00Z deadbeef 0x7f 1953525168 fstrim@data.service cafe-babe\n";
    let path = "etc/cron.weekly/x";
    assert_eq!(anonymised(&[(path, text)], path), text);
    for path in [
        "var/lib/dpkg/status",
        "etc/os-release",
        "sys/block/sda/device/rev",
    ] {
        let files = [(path, "Version: 7.17.28.1\n")];
        assert_eq!(anonymised(&files, path), files[0].1);
    }
}

#[test]
fn uuids_keep_their_format_and_identity() {
    let path = "etc/crypttab";
    let text = "luks-7d0cd2ef-0f5b-43be-b408-6a2fad87bf43 UUID=7D0CD2EF-0F5B-43BE-B408-6A2FAD87BF43\n\
                CRYPT-LUKS2-7d0cd2ef0f5b43beb4086a2fad87bf43-c0\n\
                dev-disk-by\\x2duuid-7d0cd2ef\\x2d0f5b\\x2d43be\\x2db408\\x2d6a2fad87bf43.device\n\
                7d0cd2ef:0f5b43be:b4086a2f:ad87bf43\n";
    assert_eq!(
        anonymised(&[(path, text)], path),
        "luks-00000000-0000-4000-8000-000000000001 UUID=00000000-0000-4000-8000-000000000001\n\
         CRYPT-LUKS2-00000000000040008000000000000001-c0\n\
         dev-disk-by\\x2duuid-00000000\\x2d0000\\x2d4000\\x2d8000\\x2d000000000001.device\n\
         00000000:00004000:80000000:00000001\n"
    );
    let files = [(
        "sys/hypervisor/uuid",
        "ec2f58b4-a6ae-1c3d-bd85-5ae2f0ea3b4e\n",
    )];
    assert_eq!(
        anonymised(&files, files[0].0),
        "ec200000-0000-4000-8000-000000000001\n"
    );
    let files = [(
        "etc/fstab",
        "UUID=1A2B-3C4D /boot/efi vfat\nPARTUUID=5e6f7a8b-01 / ext4\n",
    )];
    let made = anonymised(&files, "etc/fstab");
    let number = |fat: u8, mbr: u8| {
        format!("UUID=0000-000{fat} /boot/efi vfat\nPARTUUID=0000000{mbr}-01 / ext4\n")
    };
    assert!(made == number(1, 2) || made == number(2, 1), "{made}");
}

#[test]
fn lvms_uuids_agree_in_both_forms() {
    let mut before = recording(&[(
        "sys/block/dm-0/dm/uuid",
        "LVM-q942Fsz2IxFqNwO9e6cdWTrTeP3O7ISdERce9zEvhUI8vISzUQbFu8XUfr7BDaW5-tpool\n",
    )]);
    before.links.insert(
        "dev/disk/by-id/lvm-pv-uuid-q942Fs-z2Ix-FqNw-O9e6-cdWT-rTeP-3O7ISd".to_owned(),
        Ok("../../sda".to_owned()),
    );
    let made = anonymise(before, &SALT);
    let uuid = text_of(&made, "sys/block/dm-0/dm/uuid");
    let zeros = "0".repeat(31);
    let (one, two) = (format!("{zeros}1"), format!("{zeros}2"));
    assert!(
        uuid == format!("LVM-{one}{two}-tpool\n") || uuid == format!("LVM-{two}{one}-tpool\n"),
        "{uuid}"
    );
    let group = &uuid[4..36];
    let (link, _) = made.links.first_key_value().unwrap();
    let divided = link.rsplit("uuid-").next().unwrap();
    assert_eq!(divided.replace('-', ""), group);
    let lens: Vec<usize> = divided.split('-').map(str::len).collect();
    assert_eq!(lens, [6, 4, 4, 4, 4, 4, 6]);
}

#[test]
fn serials_are_replaced_in_files_and_disk_names() {
    let mut before = recording(&[
        ("sys/block/nvme0n1/device/serial", "S4EWNX0R123456      \n"),
        ("sys/block/nvme1n1/device/serial", "7\n"),
        ("sys/block/sda/device/wwid", "naa.5002538e40a12345\n"),
        (
            "sys/block/sdb/device/wwid",
            "t10.ATA     Disk 1TB      Z1D2X3Y4\n",
        ),
        (
            "sys/class/nvme/nvme0/subsysnqn",
            "nqn.2019-08.org.qemu:S4EWNX0R123456\n",
        ),
        (
            "sys/class/dmi/id/product_serial",
            "To Be Filled By O.E.M.\n",
        ),
        ("sys/class/dmi/id/chassis_asset_tag", "Amazon EC2\n"),
        (
            "sys/block/nvme0n1/device/model",
            "Samsung SSD 970 EVO Plus 1TB\n",
        ),
        (
            "etc/fstab",
            "/dev/disk/by-id/nvme-Samsung_SSD_970_S4EWNX0R123456-part1 /a\n\
             /dev/disk/by-id/wwn-0x5002538e40a12345 /b\n",
        ),
        (
            "etc/cron.d/x",
            "smartctl wwn-0x5002538e40a12345 Z1D2X3Y4 S4EWNX0R123456 7\n",
        ),
    ]);
    before.lists.insert(
        "dev/disk/by-id".to_owned(),
        Ok(vec![
            "nvme-Samsung_SSD_970_S4EWNX0R123456".to_owned(),
            "nvme-Samsung_SSD_970_S4EWNX0R123456-part1".to_owned(),
        ]),
    );
    let made = anonymise(before, &SALT);
    let all = format!("{made:?}").replace("Samsung SSD 970 EVO Plus 1TB", "");
    for gone in ["S4EWNX", "5002538e", "Z1D2X3Y4", "Samsung"] {
        assert!(!all.contains(gone), "{gone} in {all}");
    }
    let serial = text_of(&made, "sys/block/nvme0n1/device/serial");
    assert!(
        serial.starts_with("serial") && serial.ends_with('\n'),
        "{serial}"
    );
    assert!(text_of(&made, "sys/block/nvme1n1/device/serial").starts_with("serial"));
    assert!(text_of(&made, "sys/block/sda/device/wwid").starts_with("naa.serial"));
    assert!(text_of(&made, "sys/block/sdb/device/wwid").starts_with("t10.serial"));
    let line = text_of(&made, "etc/cron.d/x");
    assert!(line.ends_with(&format!("{} 7\n", serial.trim())), "{line}");
    assert_eq!(
        text_of(&made, "sys/class/dmi/id/product_serial"),
        "To Be Filled By O.E.M.\n"
    );
    assert_eq!(
        text_of(&made, "sys/class/dmi/id/chassis_asset_tag"),
        "Amazon EC2\n"
    );
    // The disk in fstab is the disk in the listing.
    let fstab = text_of(&made, "etc/fstab");
    let name = fstab["/dev/disk/by-id/".len()..].split(' ').next().unwrap();
    let listed = made.lists["dev/disk/by-id"].clone().unwrap();
    assert!(
        name.starts_with("nvme-serial") && name.ends_with("-part1"),
        "{name}"
    );
    assert_eq!(listed[1], name);
    assert_eq!(listed[1], format!("{}-part1", listed[0]));
}

#[test]
fn every_part_of_a_recording_is_anonymised() {
    let mut before = recording(&[HOST]);
    let path = || "srv/db1".to_owned();
    before
        .files
        .insert("srv/db1/x".to_owned(), Err(Unread::Denied));
    before
        .lists
        .insert(path(), Ok(vec!["db1".to_owned(), "a".to_owned()]));
    before.links.insert(path(), Ok("/mnt/db1".to_owned()));
    let stat = Stat {
        kind: Kind::Directory,
        mode: 0o755,
        mtime_s: 3,
        size_bytes: 4,
    };
    before.stats.insert(path(), Ok(stat));
    before.commands.insert(
        "statfs".to_owned(),
        Ok(b"{\"mount_point\":\"/srv/db1\"}".to_vec()),
    );
    before.files.insert(
        "etc/x.conf".to_owned(),
        Err(Unread::Malformed("found db1".to_owned())),
    );
    let made = anonymise(before, &SALT);
    assert_eq!(made.files["srv/host1/x"], Err(Unread::Denied));
    // Sorted, like all listings.
    assert_eq!(
        made.lists["srv/host1"],
        Ok(vec!["a".to_owned(), "host1".to_owned()])
    );
    assert_eq!(made.links["srv/host1"], Ok("/mnt/host1".to_owned()));
    assert_eq!(made.stats["srv/host1"], Ok(stat));
    assert_eq!(
        made.commands["statfs"],
        Ok(b"{\"mount_point\":\"/srv/host1\"}".to_vec())
    );
    assert_eq!(
        made.files["etc/x.conf"],
        Err(Unread::Malformed("found host1".to_owned()))
    );
    assert_eq!(
        super::super::host_name(&made),
        Some("host1.domain1".to_owned())
    );
}

#[test]
fn the_salt_only_determines_the_order() {
    let lines: Vec<String> = ('a'..='h')
        .map(|letter| format!("0 1 * * * user{letter} /x\n"))
        .collect();
    let before = recording(&[("etc/crontab", &lines.concat())]);
    let made: HashSet<String> = (0..20)
        .map(|salt| text_of(&anonymise(before.clone(), &[salt; 16]), "etc/crontab"))
        .collect();
    assert!(made.len() > 1, "20 salts, one order");
    for text in made {
        let mut users: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split(' ').nth(5))
            .collect();
        users.sort_unstable();
        assert_eq!(
            users,
            [
                "user1", "user2", "user3", "user4", "user5", "user6", "user7", "user8"
            ]
        );
    }
    assert_eq!(anonymise(before.clone(), &SALT), anonymise(before, &SALT));
}

#[test]
fn existing_names_are_not_reused_as_replacements() {
    let files = [
        HOST,
        ("etc/cron.d/x", "0 1 * * * root /srv/host1 /srv/db1\n"),
    ];
    assert_eq!(
        anonymised(&files, "etc/cron.d/x"),
        "0 1 * * * root /srv/host1 /srv/host2\n"
    );
}

#[test]
fn names_in_other_scripts_and_encodings_are_found() {
    let files = [("etc/crontab", "0 1 * * * jürgen /home/jürgen/x\n")];
    assert_eq!(
        anonymised(&files, "etc/crontab"),
        "0 1 * * * user1 /home/user1/x\n"
    );
    let mut latin1 = recording(&[HOST]);
    latin1
        .files
        .insert("etc/cron.d/x".to_owned(), Ok(b"# f\xfcr db1\n".to_vec()));
    let made = anonymise(latin1, &SALT);
    assert_eq!(made.files["etc/cron.d/x"], Ok(b"# f\xfcr host1\n".to_vec()));
}

#[test]
fn hostile_texts_are_not_slow() {
    // Each piece starts something that is searched for.
    for piece in [
        "iqn.",
        "nvme.",
        "mpath-",
        "home/",
        "by-id/",
        "UUID=",
        "a.",
        "aa:",
        "1.",
        "-",
        "\\x2d",
        "12345678-",
    ] {
        let long = piece.repeat((1 << 20) / piece.len());
        let files = [
            HOST,
            ("etc/x.conf", long.as_str()),
            ("etc/hostname", long.as_str()),
            ("etc/crontab", &format!("0 1 * * * {long}")),
        ];
        // Quadratic time on a megabyte would take minutes.
        let made = anonymise(recording(&files), &SALT);
        assert_eq!(made.files.len(), files.len(), "{piece}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        files in proptest::collection::btree_map(
            prop::sample::select(vec![
                "etc/crontab", "etc/fstab", "etc/mongod.conf", "proc/1/cmdline", "sys/block/sda/serial",
                "proc/sys/kernel/hostname", "proc/self/mountinfo", "etc/systemd/system/a.service",
            ]),
            proptest::collection::vec(any::<u8>(), 0..300),
            0..8,
        ),
        paths in proptest::collection::vec(".*", 0..5),
    ) {
        let mut before = Recording::default();
        for (path, bytes) in files {
            before.files.insert(path.to_owned(), Ok(bytes));
        }
        for path in &paths {
            before.lists.insert(path.clone(), Ok(paths.clone()));
            before.links.insert(path.clone(), Ok(path.clone()));
        }
        let made = anonymise(before.clone(), &SALT);
        prop_assert_eq!(made.files.len(), before.files.len());
    }

    #[test]
    fn only_names_are_removed(
        host in "[a-z]{4,8}-[a-z0-9]{2,6}[0-9]",
        user in "[b-z][a-z]{6,9}q",
        address in any::<[u8; 4]>(),
        filler in "([a-z]{1,3} ){0,5}",
    ) {
        let address = Ipv4Addr::from(address);
        prop_assume!(!address.is_loopback() && !address.is_unspecified() && address.octets()[0] < 240);
        prop_assume!(address != Ipv4Addr::new(169, 254, 169, 254));
        prop_assume!(!host.contains(&user) && !words::is_common(&user));
        let crontab = format!("0 1 * * * {user} {filler}/mnt/{host}/{user} {address}:9200\n");
        let files = [
            ("proc/sys/kernel/hostname", host.as_str()),
            ("etc/crontab", crontab.as_str()),
        ];
        prop_assert_eq!(
            anonymised(&files, "etc/crontab"),
            format!("0 1 * * * user1 {filler}/mnt/host1/user1 10.0.0.1:9200\n")
        );
    }
}

#[test]
fn the_host_name_is_replaced_even_if_it_is_a_common_word() {
    let named = recording(&[
        ("proc/sys/kernel/hostname", "db\n"),
        ("etc/crontab", "0 1 * * * root /opt/db/backup\n"),
    ]);
    let made = anonymise(named, &[1; 16]);
    assert_eq!(
        made.files["proc/sys/kernel/hostname"],
        Ok(b"host0\n".to_vec())
    );
    assert_eq!(crate::bundle::host_name(&made).as_deref(), Some("host0"));
}

#[test]
fn data_paths_are_anonymised_like_all_paths() {
    let mut named = recording(&[
        ("etc/cron.d/x", "0 1 * * * mallory /bin/x\n"),
        ("var/spool/cron/crontabs/mallory", ""),
    ]);
    named.data_paths = vec!["/home/mallory/data".to_owned()];
    let made = anonymise(named, &[1; 16]);
    assert!(
        !made.data_paths[0].contains("mallory"),
        "{:?}",
        made.data_paths
    );
}

#[test]
fn names_are_case_insensitive() {
    let path = "etc/cron.daily/x";
    let files = [
        HOST,
        ("etc/cron.d/x", "0 1 * * * alice /home/alice/x\n"),
        (path, "fstrim /srv/DB1/x /srv/ALICE /home/alice\n"),
    ];
    assert_eq!(
        anonymised(&files, path),
        "fstrim /srv/host1/x /srv/user1 /home/user1\n"
    );
}

/// A drive log consists of fixed keys and numbers: no host name breaks it, and parsing it from the
/// bundle gives the same result as on the host.
#[test]
fn a_host_named_like_a_key_does_not_break_drive_logs() {
    let mut before = recording(&[
        ("proc/sys/kernel/hostname", "data_units_written.raw.lo\n"),
        ("sys/block/sda/device/serial", "39062500\n"),
    ]);
    let answer = b"{\"data_units_written\":39062500}\n".to_vec();
    let name = "nvme_smart_log_nvme0n1";
    before.commands.insert(name.to_owned(), Ok(answer.clone()));
    let made = anonymise(before, &SALT);
    assert_eq!(made.commands[name], Ok(answer));
}
