//! Tests with hostile bundles.

use super::{Bundle, BundleError, Limits, is_archive, open, read_bytes};
use crate::command::Command;
use crate::source::Source;
use crate::unread::Unread;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use tar::{EntryType, Header};

/// An entry written without regard for the rules.
fn raw(name: &[u8], kind: EntryType, link: &[u8], body: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(body.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(1_600_000_000);
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(name: &str, body: &[u8]) -> Vec<u8> {
    raw(name.as_bytes(), EntryType::Regular, b"", body)
}

fn link(name: &str, text: &str) -> Vec<u8> {
    raw(name.as_bytes(), EntryType::Symlink, text.as_bytes(), b"")
}

fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.extend_from_slice(&[0; 1024]);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    liblzma::read::XzEncoder::new(bytes, 6)
        .read_to_end(&mut out)
        .unwrap();
    out
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, body) in entries {
        let options = zip::write::SimpleFileOptions::default();
        out.start_file(*name, options).unwrap();
        out.write_all(body).unwrap();
    }
    out.finish().unwrap().into_inner()
}

fn read(bytes: &[u8]) -> Result<Bundle, BundleError> {
    read_bytes(bytes, &Limits::default())
}

/// Returns the message with which a bundle is rejected.
fn refusal(bytes: &[u8]) -> String {
    match read(bytes) {
        Ok(bundle) => panic!("accepted: {bundle:?}"),
        Err(error) => error.to_string(),
    }
}

const MANIFEST: &[u8] = br#"{"schema":"trimtab.bundle/1","tool_version":"0.1.0",
    "collected_at":"2026-11-21T05:00:00Z","complete":true,"future_field":[1],
    "lists":{"sys/block":["sda"]},"links":{"sys/block/sda":"../devices/sda"},
    "stats":{"etc/fstab":{"kind":"file","mode":420,"mtime_s":5,"size_bytes":7}},
    "unread":{"file":{"etc/crypttab":"denied"},"list":{"etc/cron.d":"not_found"}}}"#;

fn sample() -> Vec<u8> {
    tar(&[
        file("manifest.json", MANIFEST),
        raw(b"root/", EntryType::Directory, b"", b""),
        file("root/etc/fstab", b"/dev/sda"),
        file("cmd/dmsetup_table", b"c0: 0 8 crypt"),
        file("http/nodes.json", b"{}"),
    ])
}

#[test]
fn the_format_is_detected_and_all_formats_are_equivalent() {
    for bytes in [sample(), gzip(&sample()), zstd(&sample())] {
        let bundle = read(&bytes).unwrap();
        let manifest = bundle.manifest().unwrap();
        assert_eq!(manifest.tool_version, "0.1.0");
        assert_eq!(
            manifest.collected_at,
            Some("2026-11-21T05:00:00Z".parse().unwrap())
        );
        assert_eq!(bundle.read("etc/fstab", 8), Ok(b"/dev/sda".to_vec()));
        assert_eq!(bundle.read("etc/fstab", 7), Err(Unread::TooLarge(7)));
        assert_eq!(
            bundle.command(&Command::DmTable),
            Ok(b"c0: 0 8 crypt".to_vec())
        );
    }
}

#[test]
fn a_complete_recording_knows_what_was_not_queried() {
    let bundle = read(&sample()).unwrap();
    assert_eq!(bundle.list("sys/block"), Ok(vec!["sda".to_owned()]));
    assert_eq!(
        bundle.link("sys/block/sda"),
        Ok("../devices/sda".to_owned())
    );
    assert_eq!(bundle.stat("etc/fstab").unwrap().mtime_s, 5);
    assert_eq!(bundle.read("etc/crypttab", 9), Err(Unread::Denied));
    assert_eq!(bundle.list("etc/cron.d"), Err(Unread::NotFound));
    assert_eq!(bundle.read("etc/crontab", 9), Err(Unread::NotRecorded));
    // `etc` exists because a file below it does, but nobody listed it.
    assert_eq!(bundle.list("etc"), Err(Unread::NotRecorded));
    assert_eq!(bundle.stat("etc"), Err(Unread::NotRecorded));
    assert_eq!(bundle.link("etc/fstab"), Err(Unread::NotRecorded));
    let systemctl = Command::SystemctlShow { units: Vec::new() };
    assert_eq!(bundle.command(&systemctl), Err(Unread::NotRecorded));
}

#[test]
fn without_a_manifest_the_tree_answers() {
    let bundle = read(&tar(&[
        file("./root/etc/cron.d/b", b"x"),
        file("./root/etc/cron.d/a", b"y"),
        link("./root/etc/link", "cron.d/a"),
        file("./README", b"ignored"),
    ]))
    .unwrap();
    assert_eq!(
        bundle.list("etc/cron.d"),
        Ok(vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(bundle.read("etc/link", 9), Ok(b"y".to_vec()));
    assert_eq!(bundle.link("etc/link"), Ok("cron.d/a".to_owned()));
    assert_eq!(bundle.stat("etc/link").unwrap().mtime_s, 1_600_000_000);
    assert_eq!(bundle.read("etc/fstab", 9), Err(Unread::NotFound));
    assert_eq!(bundle.command(&Command::DmTable), Err(Unread::NotFound));
}

#[test]
fn links_never_lead_outside() {
    let bundle = read(&tar(&[
        file("root/etc/passwd", b"inside"),
        link("root/absolute", "/etc/passwd"),
        link("root/up", "../../../../../etc/passwd"),
        link("root/manifest", "../manifest.json"),
        link("root/loop", "loop"),
        file("manifest.json", br#"{"schema":"trimtab.bundle/1"}"#),
    ]))
    .unwrap();
    assert_eq!(bundle.read("absolute", 99), Ok(b"inside".to_vec()));
    assert_eq!(bundle.read("up", 99), Ok(b"inside".to_vec()));
    assert_eq!(bundle.read("manifest", 99), Err(Unread::NotFound));
    assert!(matches!(bundle.read("loop", 99), Err(Unread::Failed(_))));
}

#[test]
fn disallowed_entries_are_rejected_with_name_and_reason() {
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("/etc/passwd", file("/etc/passwd", b""), "absolute"),
        ("root/../../x", file("root/../../x", b""), "\"..\""),
        ("..", raw(b"..", EntryType::Directory, b"", b""), "\"..\""),
        ("root/./x", file("root/./x", b""), "\".\""),
        ("root//x", file("root//x", b""), "empty component"),
        (
            "root/h",
            raw(b"root/h", EntryType::Link, b"root/x", b""),
            "hard link",
        ),
        (
            "root/c",
            raw(b"root/c", EntryType::Char, b"", b""),
            "device",
        ),
        (
            "root/b",
            raw(b"root/b", EntryType::Block, b"", b""),
            "device",
        ),
        ("root/f", raw(b"root/f", EntryType::Fifo, b"", b""), "FIFO"),
        (
            "root/s",
            raw(b"root/s", EntryType::GNUSparse, b"", b""),
            "sparse",
        ),
        (
            "root/v",
            raw(b"root/v", EntryType::new(b'V'), b"", b""),
            "type 'V'",
        ),
        (
            "root/\u{fffd}",
            raw(b"root/\xff", EntryType::Regular, b"", b""),
            "UTF-8",
        ),
        (
            "root/l",
            raw(b"root/l", EntryType::Symlink, b"\xff", b""),
            "UTF-8",
        ),
        (
            "root/d",
            raw(b"root/d", EntryType::Directory, b"", b"x"),
            "content",
        ),
        (
            "manifest.json",
            link("manifest.json", "root/x"),
            "not a file",
        ),
        ("cmd/x", link("cmd/x", "../root/x"), "not a file"),
        ("root", link("root", "/etc"), "not a directory"),
    ];
    for (name, entry, reason) in cases {
        let message = refusal(&tar(&[entry]));
        assert!(
            message.contains(name) && message.contains(reason),
            "{name}, {reason}: {message}"
        );
    }
}

#[test]
fn contradictory_entries_are_rejected() {
    let twice = tar(&[file("root/a", b"1"), file("root/a", b"2")]);
    assert!(refusal(&twice).contains("twice"));
    let through_link = tar(&[link("root/a", "/etc"), file("root/a/passwd", b"")]);
    assert!(refusal(&through_link).contains("no directory"));
    let below_file = tar(&[file("root/a", b""), file("root/a/b", b"")]);
    assert!(refusal(&below_file).contains("no directory"));
    let kinds = tar(&[file("root/a/b", b""), file("root/a", b"")]);
    assert!(refusal(&kinds).contains("kinds"));
    let command = tar(&[file("cmd/a", b""), file("cmd/a", b"")]);
    assert!(refusal(&command).contains("twice"));
    let manifest = br#"{"schema":"trimtab.bundle/1"}"#;
    let manifests = tar(&[
        file("manifest.json", manifest),
        file("manifest.json", manifest),
    ]);
    assert!(refusal(&manifests).contains("twice"));
}

/// One pax record.
fn pax(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let len = (rest + 1..rest + 10).find(|len| rest + len.to_string().len() == *len);
    let mut record = format!("{} {key}=", len.unwrap()).into_bytes();
    record.extend_from_slice(value);
    record.push(b'\n');
    record
}

fn pax_header(records: &[u8]) -> Vec<u8> {
    raw(b"PaxHeaders/x", EntryType::XHeader, b"", records)
}

#[test]
fn long_names_are_read_and_checked() {
    let long = format!("root/{}", "n".repeat(200));
    let gnu = raw(
        b"././@LongLink",
        EntryType::GNULongName,
        b"",
        format!("{long}\0").as_bytes(),
    );
    for extension in [gnu, pax_header(&pax("path", long.as_bytes()))] {
        let bundle = read(&tar(&[extension, file("root/short", b"x")])).unwrap();
        assert_eq!(bundle.read(&long[5..], 9), Ok(b"x".to_vec()));
        assert_eq!(bundle.read("short", 9), Err(Unread::NotFound));
    }
    let too_long = format!("root/{}", "n".repeat(1020));
    let too_deep = format!("root{}", "/d".repeat(64));
    let cases = [
        (pax_header(&pax("path", b"root/../x")), "\"..\""),
        (pax_header(&pax("path", b"/x")), "absolute"),
        (pax_header(&pax("path", b"root/\xff")), "UTF-8"),
        (pax_header(&pax("path", b"root/a\0b")), "NUL"),
        (pax_header(&pax("path", too_long.as_bytes())), "longer"),
        (pax_header(&pax("path", too_deep.as_bytes())), "deeper"),
        (pax_header(&pax("size", b"600")), "two sizes"),
        (pax_header(&pax("GNU.sparse.major", b"1")), "sparse"),
        (pax_header(b"99 path=x\n"), "malformed"),
        (pax_header(b"path=x\n"), "malformed"),
        (pax_header(b"5 x=y"), "malformed"),
        (
            pax_header(&[pax("path", b"a"), pax("path", b"b")].concat()),
            "two headers",
        ),
        (pax_header(&vec![b'x'; 1 << 20]), "a pax header is larger"),
        (
            raw(b"L", EntryType::GNULongName, b"", &vec![b'x'; 1 << 20]),
            "a long name is larger",
        ),
        (
            raw(b"g", EntryType::XGlobalHeader, b"", &pax("path", b"root/x")),
            "global pax header",
        ),
    ];
    for (extension, reason) in cases {
        let message = refusal(&tar(&[extension, file("root/short", b"x")]));
        assert!(message.contains(reason), "{reason}: {message}");
    }
    let alone = tar(&[file("root/a", b""), pax_header(&pax("path", b"root/x"))]);
    assert!(refusal(&alone).contains("none follows"));
}

#[test]
fn every_truncation_is_detected() {
    for whole in [sample(), gzip(&sample()), zstd(&sample())] {
        assert!(read(&whole).is_ok());
        for twentieth in 0..20 {
            let cut = &whole[..whole.len() * twentieth / 20];
            assert!(read(cut).is_err(), "{twentieth}/20");
        }
        assert!(read(&whole[..whole.len() - 1]).is_err());
    }
}

#[test]
fn data_after_the_end_is_detected() {
    for whole in [sample(), gzip(&sample()), zstd(&sample())] {
        let garbage = [whole.as_slice(), b"garbage"].concat();
        assert!(read(&garbage).is_err());
    }
    let second = [sample(), file("root/second", b"x")].concat();
    assert!(refusal(&second).contains("after the end"));
    // tar pads to its record size.
    assert!(read(&[sample(), vec![0; 8192]].concat()).is_ok());
}

#[test]
fn damage_is_detected() {
    let mut header = sample();
    header[600 + 512] ^= 1;
    assert!(read(&header).is_err());
    for mut whole in [gzip(&sample()), zstd(&sample()), xz(&sample())] {
        // The checksum of the content is in the last eight bytes (gzip) or four (zstd); that of the footer
        // in the last twelve (xz).
        let at = whole.len()
            - [8, 4, 12][usize::from(whole[0] == 0x28) + 2 * usize::from(whole[0] == 0xfd)];
        whole[at] ^= 1;
        assert!(read(&whole).is_err());
    }
    assert!(refusal(b"PK\x03\x04 some other archive").contains("damaged"));
    assert!(refusal(&sample()[..700]).contains("it ends within a block"));
    assert!(refusal(&[b'x'; 2048]).contains("it is not an archive"));
    assert!(refusal(b"").contains("empty"));
}

#[test]
fn zips_are_read_with_the_same_care() {
    let manifest = br#"{"schema":"trimtab.bundle/1"}"#;
    let bundle = read(&zip(&[
        ("manifest.json", manifest),
        ("root/etc/fstab", b"x"),
    ]))
    .unwrap();
    assert_eq!(bundle.read("etc/fstab", 10).unwrap(), b"x");
    assert!(refusal(&zip(&[("root/../../etc/passwd", b"x")])).contains("leads upwards"));
    assert!(refusal(&zip(&[("/etc/passwd", b"x")])).contains("absolute"));
    let whole = zip(&[("root/a", &[7; 5000])]);
    for cut in 4..whole.len() {
        assert!(read(&whole[..cut]).is_err(), "{cut}");
    }
    // The size that the directory states is a claim: as many bytes as it says, and no more, are read.
    let at = whole
        .windows(4)
        .position(|four| four == b"PK\x01\x02")
        .unwrap();
    let mut lying = whole.clone();
    lying[at + 24..at + 28].copy_from_slice(&10_u32.to_le_bytes());
    assert!(read(&lying).is_err());
    lying[at + 24..at + 28].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(refusal(&lying).contains("larger than"));
    // A directory of 4 GiB.
    let end = whole
        .windows(4)
        .position(|four| four == b"PK\x05\x06")
        .unwrap();
    let mut vast = whole.clone();
    vast[end + 12..end + 16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(refusal(&vast).contains("the zip's directory"));
}

#[test]
fn what_nobody_asked_for_is_passed_over_whatever_it_is() {
    let bytes = tar(&[
        file("root/etc/fstab", b"x"),
        raw(b"var/log/journal/x", EntryType::Link, b"y", b""),
        raw(b"dev/null", EntryType::Char, b"", b""),
        raw(b"\xff", EntryType::Regular, b"", b"abc"),
        file("root/etc/hosts", b"y"),
    ]);
    let bundle = read(&bytes).unwrap();
    assert_eq!(bundle.read("etc/hosts", 10).unwrap(), b"y");
}

#[test]
fn other_archives_are_not_bundles() {
    let message = refusal(&tar(&[file("src/main.rs", b""), file("Cargo.toml", b"")]));
    assert!(
        message.contains("neither a bundle") && message.contains("src/main.rs"),
        "{message}"
    );
    assert!(refusal(&[0; 1024]).contains("neither a bundle"));
}

#[test]
fn an_invalid_manifest_is_rejected() {
    for (manifest, reason) in [
        (&b"{"[..], "EOF"),
        (b"[]", "invalid"),
        (br#"{"tool_version":"1"}"#, "schema"),
        (br#"{"schema":"trimtab.bundle/2"}"#, "newer"),
        (br#"{"schema":"trimtab.bundle/1","lists":7}"#, "map"),
    ] {
        let message = refusal(&tar(&[file("manifest.json", manifest)]));
        assert!(
            message.contains("manifest.json") && message.contains(reason),
            "{reason}: {message}"
        );
    }
    // Deep enough to overflow a recursive parser.
    for field in ["lists", "future"] {
        let nested = format!(
            "{{\"schema\":\"trimtab.bundle/1\",\"{field}\":{}",
            "[".repeat(1_000_000)
        );
        refusal(&tar(&[file("manifest.json", nested.as_bytes())]));
    }
}

/// Repeats a piece and counts the bytes read.
struct Endless<'c> {
    piece: Vec<u8>,
    at: usize,
    given: &'c std::cell::Cell<u64>,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min(self.piece.len() - self.at);
        buffer[..len].copy_from_slice(&self.piece[self.at..self.at + len]);
        self.at = (self.at + len) % self.piece.len();
        self.given.set(self.given.get() + len as u64);
        Ok(len)
    }
}

#[test]
fn ten_gigabytes_of_zeros_stop_early() {
    // 10,000 times a compressed megabyte of zeros: 10 GB from 10 MB (gzip) or less (zstd).
    let zeros = vec![0; 1 << 20];
    let big = Header::new_gnu();
    for (name, piece) in [
        ("gzip", gzip(&zeros)),
        ("zstd", zstd(&zeros)),
        ("xz", xz(&zeros)),
    ] {
        let bomb = piece.repeat(10_000);
        let limits = Limits {
            total_bytes_max: 128 << 20,
            ..Limits::default()
        };
        let error = read_bytes(&bomb, &limits).unwrap_err();
        assert!(
            matches!(&error, BundleError::TooLarge { limit, .. } if limit.contains("134217728")),
            "{name}: {error}"
        );
        // As the body of an entry that claims that length.
        let mut header = big.clone();
        header.set_path("root/zeros").unwrap();
        header.set_size(10 << 30);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_cksum();
        let compress = match name {
            "gzip" => gzip,
            "zstd" => zstd,
            _ => xz,
        };
        let bomb = [compress(header.as_bytes()), piece.repeat(100)].concat();
        assert!(refusal(&bomb).contains("larger than 16777216 bytes"));
    }
}

#[test]
fn the_limits_bound_what_is_read() {
    let limits = Limits {
        total_bytes_max: 4 << 20,
        compressed_bytes_max: 1 << 20,
        ..Limits::default()
    };
    // What buffers may have read ahead.
    let slack = 300 << 10;
    let given = std::cell::Cell::new(0);
    let endless = |piece: Vec<u8>| Endless {
        piece,
        at: 0,
        given: &given,
    };
    let error = Bundle::read_from(endless(vec![0]), &limits).unwrap_err();
    assert!(matches!(error, BundleError::TooLarge { .. }), "{error}");
    assert!(given.get() <= limits.compressed_bytes_max + slack);

    given.set(0);
    let error = Bundle::read_from(endless(gzip(&vec![0; 1 << 20])), &limits).unwrap_err();
    assert!(matches!(error, BundleError::TooLarge { .. }), "{error}");
    // Four members of about a kilobyte each are four megabytes.
    assert!(given.get() <= slack, "{}", given.get());

    // Ignored entries count as well.
    let junk = raw(b"junk", EntryType::Regular, b"", &vec![7; 64 << 10]);
    let error = read_bytes(&zstd(&junk.repeat(100)), &limits).unwrap_err();
    assert!(
        matches!(&error, BundleError::TooLarge { limit, .. } if limit == "4194304 bytes"),
        "{error}"
    );
}

/// Headers of empty files, generated while reading.
struct Many {
    next: u32,
    block: Vec<u8>,
    name: fn(u32) -> String,
}

impl Read for Many {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.block.is_empty() {
            self.block = file(&(self.name)(self.next), b"");
            self.next += 1;
        }
        let len = buffer.len().min(self.block.len());
        buffer[..len].copy_from_slice(&self.block[..len]);
        self.block.drain(..len);
        Ok(len)
    }
}

#[test]
fn a_million_files_are_rejected() {
    for name in [
        |number| format!("root/{number}"),
        |number| format!("junk/{number}"),
        // Few entries, many directories.
        |number| format!("root/{number}/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p"),
    ] {
        let many = Many {
            next: 0,
            block: Vec::new(),
            name,
        };
        let error = Bundle::read_from(many, &Limits::default()).unwrap_err();
        assert!(
            matches!(&error, BundleError::TooLarge { limit, .. } if limit.contains("100000 ")),
            "{error}"
        );
    }
}

#[test]
fn directories_are_bundles_or_trees_by_their_form() {
    let temporary = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &[u8]| {
        let path = temporary.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    // A host whose root user has a home directory.
    write("host/root/.profile", b"");
    write("host/etc/fstab", b"host");
    write("host/cmd/dmsetup_table", b"table");
    let host = open(&temporary.path().join("host")).unwrap();
    assert_eq!(host.read("etc/fstab", 9), Ok(b"host".to_vec()));
    assert_eq!(host.command(&Command::DmTable), Ok(b"table".to_vec()));

    write("tree/root/etc/fstab", b"tree");
    write("tree/cmd/dmsetup_table", b"table");
    let tree = open(&temporary.path().join("tree")).unwrap();
    assert_eq!(tree.read("etc/fstab", 9), Ok(b"tree".to_vec()));
    assert_eq!(tree.read("../cmd/dmsetup_table", 9), Err(Unread::NotFound));
    assert_eq!(tree.command(&Command::DmTable), Ok(b"table".to_vec()));

    write("bundle/manifest.json", MANIFEST);
    write("bundle/root/etc/fstab", b"bundle");
    let bundle = open(&temporary.path().join("bundle")).unwrap();
    assert_eq!(bundle.read("etc/fstab", 9), Ok(b"bundle".to_vec()));
    assert_eq!(bundle.read("etc/crontab", 9), Err(Unread::NotRecorded));
    assert_eq!(bundle.read("etc/crypttab", 9), Err(Unread::Denied));
    assert_eq!(bundle.list("etc"), Err(Unread::NotRecorded));

    write("linked/manifest.json", MANIFEST);
    symlink("/etc", temporary.path().join("linked/root")).unwrap();
    let error = open(&temporary.path().join("linked")).err().unwrap();
    assert!(error.to_string().contains("not a directory"), "{error}");

    write("archive", &gzip(&sample()));
    let archive = open(&temporary.path().join("archive")).unwrap();
    assert_eq!(archive.read("etc/fstab", 9), Ok(b"/dev/sda".to_vec()));
    let error = open(&temporary.path().join("nothing")).err().unwrap();
    assert!(error.to_string().contains("nothing"), "{error}");
    let error = open("/dev/null".as_ref()).err().unwrap();
    assert!(error.to_string().contains("found a device"), "{error}");
}

/// All answers of the sample.
fn answers(bundle: &Bundle) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        bundle.manifest().cloned(),
        bundle.read("etc/fstab", 99),
        bundle.list("sys/block"),
        bundle.command(&Command::DmTable),
    )
}

proptest! {
    #[test]
    fn random_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..2048),
        magic in prop::sample::select(vec![&b""[..], b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd"]),
    ) {
        let bytes = [magic, &bytes].concat();
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn a_changed_archive_never_panics(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        form in 0..3,
    ) {
        let mut bytes = match form {
            0 => sample(),
            1 => gzip(&sample()),
            _ => zstd(&sample()),
        };
        let whole = answers(&read(&bytes).unwrap());
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        // Compressed formats have a checksum: what is accepted is what was written.
        if let Ok(bundle) = read(&bytes)
            && form != 0
        {
            prop_assert_eq!(answers(&bundle), whole);
        }
    }

    #[test]
    fn a_changed_header_with_a_valid_checksum_never_panics(
        changes in proptest::collection::vec((0_usize..512, any::<u8>()), 1..6),
        entry in 0_usize..5,
    ) {
        let mut bytes = sample();
        // manifest.json has two blocks including its header, plus one; the others are short.
        let starts: Vec<usize> = (0..bytes.len() - 1024)
            .step_by(512)
            .filter(|&at| &bytes[at + 257..at + 262] == b"ustar")
            .collect();
        prop_assert_eq!(starts.len(), 5);
        let at = starts[entry];
        for (offset, value) in changes {
            bytes[at + offset] = value;
        }
        let mut header = Header::from_byte_slice(&bytes[at..at + 512]).clone();
        header.set_cksum();
        bytes[at..at + 512].copy_from_slice(header.as_bytes());
        if let Ok(bundle) = read(&bytes) {
            let _ = answers(&bundle);
        }
    }
}

/// What a file is called says nothing: a table may be compressed, and an archive have any name.
#[test]
fn archives_are_known_by_their_content() {
    let directory = tempfile::tempdir().unwrap();
    let is_one = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        is_archive(&path)
    };
    let table = b"time,ms\n2026-01-01T00:00:00Z,1\n".repeat(50);
    for compress in [<[u8]>::to_vec as fn(&[u8]) -> Vec<u8>, gzip, zstd, xz] {
        assert!(is_one("a.bin", &compress(&sample())));
        assert!(!is_one("a.tar.gz", &compress(&table)));
    }
    assert!(is_one("b", &zip(&[("a", b"b")])));
    assert!(is_one("c.json", br#"[{ "ref" : "x", "section" : "y" }]"#));
    for other in [&b""[..], b"[1]", b"{}", &[0; 2048]] {
        assert!(!is_one("d.tar", other), "{other:?}");
    }

    assert!(!is_archive(directory.path()) && !is_archive(&directory.path().join("none")));
    std::fs::create_dir(directory.path().join("sos_commands")).unwrap();
    assert!(is_archive(directory.path()));
}
