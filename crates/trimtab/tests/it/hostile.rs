//! Malicious bundles: each is refused with a clear error and leaves no files behind.

use crate::support::{run, stderr, stdout, trimtab};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use tar::{Builder, EntryType, Header};

fn header(entry_type: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(entry_type);
    header.set_size(size);
    header.set_mode(0o644);
    header
}

/// Appends an entry with its name copied verbatim into the header: the library would refuse `..`.
fn raw_entry(builder: &mut Builder<Vec<u8>>, name: &[u8], mut header: Header, content: &[u8]) {
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_cksum();
    builder.append(&header, content).unwrap();
}

fn tar_of(name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    raw_entry(
        &mut builder,
        name,
        header(EntryType::Regular, content.len() as u64),
        content,
    );
    builder.into_inner().unwrap()
}

/// Asserts that a bundle is refused with exit code 2 and a message that contains `word`, and that
/// no file is left in the working or temporary directory.
fn assert_refused(bytes: &[u8], word: &str) {
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let bundle = directory.path().join("bundle");
    std::fs::write(&bundle, bytes).unwrap();
    let output = trimtab()
        .args(["check", "--bundle"])
        .arg(&bundle)
        .current_dir(&scratch)
        .env("TMPDIR", &scratch)
        .output()
        .unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{word}: {message}");
    assert!(message.to_lowercase().contains(word), "{word}: {message}");
    assert!(!message.contains("panicked"), "{message}");
    assert_eq!(stdout(&output), "", "{word}");
    assert_eq!(
        std::fs::read_dir(&scratch).unwrap().count(),
        0,
        "{word}: files were left behind"
    );
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        2,
        "{word}"
    );
}

#[test]
fn paths_outside_the_bundle() {
    assert_refused(&tar_of(b"root/../../../etc/cron.d/evil", b"x"), "..");
    assert_refused(&tar_of(b"/etc/passwd", b"x"), "absolute");
    assert_refused(&tar_of(b"root/\xff\xfe", b"x"), "utf-8");
}

#[test]
fn entries_that_are_not_files() {
    for (entry_type, word) in [
        (EntryType::Link, "link"),
        (EntryType::Fifo, "fifo"),
        (EntryType::Char, "device"),
        (EntryType::Block, "device"),
    ] {
        let mut builder = Builder::new(Vec::new());
        let mut header = header(entry_type, 0);
        header.set_link_name("/etc/passwd").unwrap();
        raw_entry(&mut builder, b"root/etc/fstab", header, b"");
        assert_refused(&builder.into_inner().unwrap(), word);
    }
}

#[test]
fn a_symlink_out_of_the_tree_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "1 1 8:1 / /stolen rw - ext4 /dev/sda1 rw\n").unwrap();
    let mut builder = Builder::new(Vec::new());
    let mut header = header(EntryType::Symlink, 0);
    header.set_link_name(&secret).unwrap();
    raw_entry(&mut builder, b"root/proc/self/mountinfo", header, b"");
    let bundle = directory.path().join("bundle.tar");
    std::fs::write(&bundle, builder.into_inner().unwrap()).unwrap();
    let output = run(&[
        "check",
        "--format",
        "json",
        "--bundle",
        bundle.to_str().unwrap(),
    ]);
    assert!(!stdout(&output).contains("stolen"));

    // The same symlink in a directory tree.
    let tree = directory.path().join("tree");
    std::fs::create_dir_all(tree.join("proc/self")).unwrap();
    symlink(&secret, tree.join("proc/self/mountinfo")).unwrap();
    let output = run(&[
        "check",
        "--format",
        "json",
        "--root",
        tree.to_str().unwrap(),
    ]);
    assert!(!stdout(&output).contains("stolen"));
    let up = Path::new("../../../../../../../../..").join(secret.strip_prefix("/").unwrap());
    std::fs::remove_file(tree.join("proc/self/mountinfo")).unwrap();
    symlink(up, tree.join("proc/self/mountinfo")).unwrap();
    let output = run(&[
        "check",
        "--format",
        "json",
        "--root",
        tree.to_str().unwrap(),
    ]);
    assert!(!stdout(&output).contains("stolen"));
}

#[test]
fn a_pipe_in_a_tree_does_not_block() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("proc/self")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        directory.path().join("proc/self/mountinfo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let output = run(&["check", "--root", directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn ten_gigabytes_of_zeros() {
    // One zstd frame of 1 MiB of zeros, repeated: concatenated frames are read in sequence.
    let frame = zstd::encode_all(vec![0_u8; 1 << 20].as_slice(), 3).unwrap();
    let mut archive = zstd::encode_all(header_of_ten_gigabytes().as_slice(), 3).unwrap();
    for _ in 0..10_000 {
        archive.extend_from_slice(&frame);
    }
    assert_refused(&archive, "larger than");
    // Zeros after the last entry: only the limit on total bytes catches them.
    let mut trailing = zstd::encode_all(tar_of(b"root/etc/fstab", b"").as_slice(), 3).unwrap();
    for _ in 0..10_000 {
        trailing.extend_from_slice(&frame);
    }
    assert_refused(&trailing, "");
}

fn header_of_ten_gigabytes() -> Vec<u8> {
    let mut header = header(EntryType::Regular, 10 << 30);
    header.as_mut_bytes()[..14].copy_from_slice(b"root/etc/fstab");
    header.set_cksum();
    header.as_bytes().to_vec()
}

#[test]
fn a_million_files() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for index in 0..1_000_000 {
        let mut header = header(EntryType::Regular, 0);
        let name = format!("root/etc/cron.d/{index}");
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        encoder.write_all(header.as_bytes()).unwrap();
    }
    encoder.write_all(&[0; 1024]).unwrap();
    assert_refused(&encoder.finish().unwrap(), "100000 files");
}

#[test]
fn truncated_and_garbled_archives() {
    let whole = std::fs::read(crate::support::recorded("crypt-drops-discards")).unwrap();
    for part in 1..20 {
        assert_refused(&whole[..whole.len() * part / 20], "");
    }
    assert_refused(b"", "");
    assert_refused(b"this is no archive", "");
    assert_refused(&vec![0; 100_000], "");
    let mut garbled = whole.clone();
    let middle = garbled.len() / 2;
    garbled[middle..middle + 64].fill(0xaa);
    assert_refused(&garbled, "");
}

#[test]
fn invalid_manifests() {
    assert_refused(
        &tar_of(b"manifest.json", b"{\"schema\":\"somebody.else/7\"}"),
        "schema",
    );
    assert_refused(&tar_of(b"manifest.json", b"{{{"), "manifest");
}
