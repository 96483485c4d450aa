use super::*;
use proptest::prelude::*;

const LUKS1_KEY: &str = "d9b1a4c05f0d6b2c8e7f00112233445566778899aabbccddeeff0f1e2d3c4b5a";

fn only(text: &str) -> DmTarget {
    let (mut tables, errors) = parse(text);
    assert_eq!(errors, []);
    assert_eq!(tables.len(), 1);
    assert_eq!(tables[0].targets.len(), 1);
    tables.remove(0).targets.remove(0)
}

fn device(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber { major, minor }
}

/// Asserts that no four consecutive characters of a key appear: shorter pieces occur by chance.
fn assert_no_piece_of(key: &str, output: &str) {
    for piece in key.as_bytes().windows(4) {
        let piece = std::str::from_utf8(piece).unwrap();
        assert!(!output.contains(piece), "{piece} of the key is in {output}");
    }
}

#[test]
fn luks1_and_luks2_keys_are_dropped() {
    let luks1 = format!("c1: 0 2064384 crypt aes-xts-plain64 {LUKS1_KEY} 0 259:0 4096\n");
    let keyring = ":64:logon:cryptsetup:7d0cd2ef-0f5b-43be-b408-6a2fad87bf43-d0";
    let luks2 = format!(
        "c2: 0 2064384 crypt aes-xts-plain64 {keyring} 0 259:1 32768 3 allow_discards sector_size:4096 no_read_workqueue\n"
    );
    let pieces = [
        LUKS1_KEY,
        "logon",
        "cryptsetup",
        "7d0cd2ef-0f5b-43be-b408-6a2fad87bf43",
    ];
    for text in [&luks1, &luks2] {
        let kept = sanitise(text);
        for piece in pieces {
            assert!(!kept.contains(piece), "{piece} is in {kept}");
        }
        assert_no_piece_of(LUKS1_KEY, &kept);
        assert_no_piece_of(LUKS1_KEY, &format!("{:?}", parse(text)));
        assert_no_piece_of("7d0cd2ef-0f5b-43be-b408-6a2fad87bf43", &kept);
        // Dropped arguments do not change the facts.
        assert_eq!(parse(&kept), parse(text));
    }
    assert_eq!(sanitise(&luks1), "c1: 0 2064384 crypt - - - 259:0 -\n");
    let target = only(&luks2);
    assert_eq!(target.devices, [device(259, 1)]);
    assert_eq!(target.options, ["allow_discards"]);
    assert!(!only(&luks1).has("allow_discards"));
}

#[test]
fn a_misplaced_key_is_dropped() {
    for text in [
        format!("a: 0 8 crypt {LUKS1_KEY} 0 259:0 0\n"),
        format!("a: 0 8 crypt aes {LUKS1_KEY} {LUKS1_KEY} 259:0 0\n"),
        format!("a: 0 8 crypt aes-cbc-plain x 0 259:0 0 1 {LUKS1_KEY}\n"),
        format!("a: 0 8 crypt aes-cbc-plain x 0 259:0 0 {LUKS1_KEY}\n"),
        format!("a: 0 8 linear {LUKS1_KEY} 259:0\n"),
        format!("a: 0 8 default-key aes-xts-plain64 {LUKS1_KEY} 0 259:0 0\n"),
        "a: 0 8 inlinecrypt aes-xts-plain64 1234567890123456 0 259:0 0\n".to_owned(),
        format!("{LUKS1_KEY}\n"),
        format!("a: 0 crypt aes-xts-plain64 {LUKS1_KEY} 0 259:0 0\n"),
        format!("a: 0 8 crypt\u{b}aes {LUKS1_KEY} 0 259:0 0\n"),
        format!("a: 0 8 integrity 259:0 0 32 J 1 journal_mac:{LUKS1_KEY}\n"),
    ] {
        assert_no_piece_of(LUKS1_KEY, &sanitise(&text));
        assert_no_piece_of("1234567890123456", &sanitise(&text));
        let (tables, errors) = parse(&text);
        assert_no_piece_of(LUKS1_KEY, &format!("{tables:?} {errors:?}"));
    }
}

#[test]
fn integrity_keeps_devices_and_discards() {
    let text = format!(
        "i: 0 16384 integrity 8:16 0 32 J 7 journal_sectors:1024 \
         internal_hash:hmac(sha256):{LUKS1_KEY} meta_device:8:32 allow_discards\n"
    );
    assert_no_piece_of(LUKS1_KEY, &sanitise(&text));
    let target = only(&text);
    assert_eq!(target.devices, [device(8, 16), device(8, 32)]);
    assert_eq!(target.options, ["allow_discards"]);
}

#[test]
fn recorded_lvm_with_a_thin_pool() {
    let (tables, errors) = parse(
        "vg-lin: 0 1048576 linear 259:0 2048\n\
         vg-pool-tpool: 0 1638400 thin-pool 253:1 253:2 128 0 1 ignore_discard \n\
         vg-pool_tdata: 0 1638400 linear 259:1 10240\n\
         vg-thin: 0 1228800 thin 253:3 1\n",
    );
    assert_eq!(errors, []);
    let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(
        names,
        ["vg-lin", "vg-pool-tpool", "vg-pool_tdata", "vg-thin"]
    );
    let pool = &tables[1].targets[0];
    assert_eq!(pool.target_type, "thin-pool");
    assert_eq!(pool.len_sectors, 1_638_400);
    assert_eq!(pool.devices, [device(253, 1), device(253, 2)]);
    assert_eq!(pool.options, ["ignore_discard"]);
    assert_eq!(tables[3].targets[0].devices, [device(253, 3)]);
}

#[test]
fn stripes_and_raid_chunks() {
    let striped = only("s: 0 8192 striped 2 128 8:0 0 8:16 0\n");
    assert_eq!(
        (striped.stripes, striped.chunk_bytes),
        (Some(2), Some(65_536))
    );
    assert_eq!(striped.devices, [device(8, 0), device(8, 16)]);

    let raid =
        only("r: 0 8192 raid raid5_ls 3 256 region_size 1024 3 253:0 253:1 - - 253:4 253:5\n");
    assert_eq!((raid.stripes, raid.chunk_bytes), (None, Some(131_072)));
    assert_eq!(raid.options, ["raid5_ls"]);
    assert_eq!(raid.devices.len(), 4);

    let mirror = only("m: 0 8192 raid raid1 3 0 region_size 1024 2 253:0 253:1 253:2 253:3\n");
    assert_eq!(mirror.chunk_bytes, None);
}

#[test]
fn other_targets_keep_devices_and_words() {
    for (line, devices, options) in [
        (
            "mp: 0 8 multipath 1 queue_if_no_path 1 alua 1 1 service-time 0 2 2 8:16 1 1 8:32 1 1",
            2,
            vec![],
        ),
        (
            "c: 0 8 cache 253:0 253:1 253:2 128 3 metadata2 writethrough no_discard_passdown smq 0",
            3,
            vec!["no_discard_passdown"],
        ),
        ("w: 0 8 writecache s 253:0 253:1 4096 0", 2, vec![]),
        ("o: 0 8 snapshot-origin 253:0", 1, vec![]),
        (
            "m: 0 8 mirror core 2 1024 nosync 2 8:0 0 8:16 0 1 handle_errors",
            2,
            vec![],
        ),
        (
            "v: 0 8 vdo V2 /dev/disk/by-id/ata-SERIAL 1 512 1 1 on async x",
            0,
            vec![],
        ),
        (
            "y: 0 8 verity 1 8:1 8:2 4096 4096 262144 1 sha256 4392712ba01368efdf14b05c76f9e4df0d53664630b5d48632ed17a137f39076 1234000000000000 1 ignore_zero_blocks",
            2,
            vec![],
        ),
        ("z: 0 8 zero ", 0, vec![]),
        ("e: 0 8 error", 0, vec![]),
        (
            "x: 0 8 somethingnew 8:0 abc 12 allow_discards",
            1,
            vec!["allow_discards"],
        ),
    ] {
        let target = only(line);
        assert_eq!(target.devices.len(), devices, "{line}");
        assert_eq!(target.options, options, "{line}");
        assert_eq!(only(&sanitise(line)), target, "{line}");
    }
    assert_eq!(
        sanitise("x: 0 8 somethingnew 8:0 abc 12 allow_discards\n"),
        "x: 0 8 somethingnew 8:0 - - allow_discards\n"
    );
}

#[test]
fn names_with_blanks_colons_and_escapes() {
    let (tables, errors) = parse(
        "my disk: one: 0 8 linear 8:0 0\n\
         my disk: one: 8 8 linear 8:16 0\n\
         a\\x20b: 0 8 linear 8:0 0\n\
         empty: \n",
    );
    assert_eq!(errors, []);
    assert_eq!(tables.len(), 3);
    assert_eq!(
        (tables[0].name.as_str(), tables[0].targets.len()),
        ("my disk: one", 2)
    );
    assert_eq!(tables[1].name, "a b");
    assert_eq!(
        (tables[2].name.as_str(), tables[2].targets.len()),
        ("empty", 0)
    );
}

#[test]
fn a_key_in_a_damaged_line_is_not_a_name() {
    for line in [
        "0 8 crypt aes-xts-plain64 00112233445566778899aabbccddeeff 0 8:0 4096:",
        "a: 0 -8 crypt aes 00112233445566778899aabbccddeeff 0 8:0 0b: 0 8 linear 8:0 0",
        "0 8 crypt aes 00112233445566778899AABBCCDDEEFF 0 8:0 0 b: 0 8 linear 8:0 0",
    ] {
        assert_eq!(sanitise(line), "-\n", "{line}");
    }
    let multipath = "3600508b400105e210000900000490000: 0 8 multipath - -\n";
    assert_eq!(sanitise(multipath), multipath);
}

#[test]
fn no_devices_means_no_tables_and_no_error() {
    assert_eq!(parse("No devices found\n"), (vec![], vec![]));
    assert_eq!(sanitise("No devices found\n"), "");
}

#[test]
fn malformed_lines_keep_only_their_line_number() {
    let text = "\na: 0 8 linear 8:0 0\nsecret words here\n: 0 8 zero\n";
    assert_eq!(sanitise(text), "\na: 0 8 linear 8:0 -\n-\n-\n");
    for text in [text, &sanitise(text)] {
        let (tables, errors) = parse(text);
        assert_eq!(tables.len(), 1);
        let lines: Vec<_> = errors.iter().filter_map(|error| error.line).collect();
        assert_eq!(lines, [3, 4]);
        assert!(!format!("{errors:?}").contains("secret"));
    }
}

#[test]
fn answers_of_the_kernel_become_lines() {
    let line = sanitise_target(
        "my\\x20disk",
        0,
        8,
        "crypt",
        &format!("aes-xts-plain64 {LUKS1_KEY} 0 8:0 0"),
    );
    assert_eq!(line.as_deref(), Some("my\\x20disk: 0 8 crypt - - - 8:0 -"));
    // A name that was not created by libdevmapper cannot break the line.
    let line = sanitise_target("a\nb c", 1, 2, "linear", "8:0 5").unwrap();
    assert_eq!(line, "a\\x0ab\\x20c: 1 2 linear 8:0 -");
    assert_eq!(parse(&line).0[0].name, "a\nb c");
    assert_eq!(sanitise_target("a", 0, 8, "no such type!", ""), None);
}

proptest! {
    #[test]
    fn generated_tables_round_trip(
        name in "[a-zA-Z0-9_.+-]{1,20}",
        start in 0u64..1 << 40,
        len in 1u64..1 << 40,
        devices in prop::collection::vec((any::<u32>(), any::<u32>()), 1..6),
        chunk in 1u64..1 << 20,
    ) {
        let pairs: Vec<String> = devices.iter().map(|(major, minor)| format!("{major}:{minor} 0")).collect();
        let target = only(&format!("{name}: {start} {len} striped {} {chunk} {}\n", devices.len(), pairs.join(" ")));
        prop_assert_eq!(target, DmTarget {
            start_sectors: start,
            len_sectors: len,
            target_type: "striped".to_owned(),
            devices: devices.iter().map(|&(major, minor)| device(major, minor)).collect(),
            options: vec![],
            chunk_bytes: Some(chunk * 512),
            stripes: u32::try_from(devices.len()).ok(),
        });
    }

    #[test]
    fn crypt_keys_never_survive(
        key in "[0-9a-f]{32,128}|:[0-9]{2}:(logon|user|trusted):[a-z0-9:_-]{8,40}",
        cipher in "aes-xts-plain64|capi:xts\\(aes\\)-plain64|serpent-cbc-essiv:sha256|aes:64-cbc-lmk",
        tail in prop::collection::vec("allow_discards|sector_size:4096|integrity:28:aead", 0..3),
    ) {
        let count = if tail.is_empty() { String::new() } else { format!(" {} {}", tail.len(), tail.join(" ")) };
        let text = format!("c: 0 2064384 crypt {cipher} {key} 0 259:0 32768{count}\n");
        let kept = sanitise(&text);
        prop_assert!(!kept.contains(&key));
        prop_assert_eq!(kept.split(' ').nth(5), Some("-"));
        prop_assert_eq!(parse(&kept), parse(&text));
    }

    #[test]
    fn sanitising_twice_changes_nothing(
        text in any::<String>(),
        lines in prop::collection::vec("[a-z ]{1,3}: ?[0-9]{1,3} [0-9]{1,3} (crypt|linear|integrity|raid|x)( [a-f0-9:]{1,20}| allow_discards| journal_mac:[a-z]{3}:[0-9a-f]{8}| -){0,8}", 0..6),
    ) {
        for text in [text, lines.join("\n")] {
            let once = sanitise(&text);
            prop_assert_eq!(&sanitise(&once), &once);
            prop_assert_eq!(parse(&once), parse(&text));
        }
    }

    #[test]
    fn names_round_trip_through_mangling(name in any::<String>()) {
        // libdevmapper escapes backslashes, so a kernel name contains them only as part of an
        // escape.
        let escaped = mangle(&name.replace('\\', "\\x5c"));
        prop_assert_eq!(unmangle(&escaped), name);
    }
}
