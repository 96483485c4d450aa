use super::*;
use crate::attributes::testing::{ACL, acl_for, get, set};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn write_bytes(path: &Path, if_exists: IfExists, bytes: &[u8]) -> io::Result<()> {
    write(path, if_exists, Access::Owner, |out| out.write_all(bytes))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_file_appears_complete_and_private() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("host.tar.zst");
    write_bytes(&path, IfExists::Keep, b"content").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(std::fs::read(&path).unwrap(), b"content");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn an_existing_file_is_kept_unless_replacing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("host");
    std::fs::write(&path, "before").unwrap();
    let error = write_bytes(&path, IfExists::Keep, b"after").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("already exists"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    write_bytes(&path, IfExists::Replace, b"after").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"after");

    // Created by someone else while we write.
    let path = directory.path().join("raced");
    let error = write(&path, IfExists::Keep, Access::Owner, |out| {
        std::fs::write(&path, "theirs")?;
        out.write_all(b"ours")
    })
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("host");
    let half = |if_exists| {
        write(&path, if_exists, Access::Default, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        })
    };
    assert_eq!(half(IfExists::Keep).unwrap_err().to_string(), "no more");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    std::fs::write(&path, "before").unwrap();
    assert!(half(IfExists::Replace).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(write_bytes(&directory.path().join("no/such"), IfExists::Keep, b"").is_err());
}

#[test]
fn only_a_regular_file_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("target", &link).unwrap();
    let fifo = directory.path().join("fifo");
    rustix::fs::mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    for path in [&link, &fifo, directory.path(), Path::new("/")] {
        let error = write_bytes(path, IfExists::Replace, b"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
}

#[test]
fn default_access_uses_the_umask_or_the_replaced_files_mode() {
    let directory = tempfile::tempdir().unwrap();
    let (usual, path) = (directory.path().join("usual"), directory.path().join("x"));
    std::fs::write(&usual, "").unwrap();
    let write = |text: &[u8]| {
        write(&path, IfExists::Replace, Access::Default, |out| {
            out.write_all(text)
        })
    };
    write(b"1").unwrap();
    assert_eq!(mode(&path), mode(&usual));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12345), Some(54321)).unwrap();
    }
    let before = std::fs::metadata(&path).unwrap();
    write(b"2").unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(mode(&path), 0o640);
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino(), "renamed, not written over");
    assert_eq!(std::fs::read(&path).unwrap(), b"2");
}

#[test]
fn a_replaced_file_s_attributes_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page");
    std::fs::write(&path, "1").unwrap();
    if !set(&path, "user.note", b"kept") || !set(&path, ACL, &acl_for(4711)) {
        return;
    }
    write(&path, IfExists::Replace, Access::Default, |out| {
        out.write_all(b"2")
    })
    .unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"2");
    assert_eq!(get(&path, "user.note").as_deref(), Some(&b"kept"[..]));
    assert_eq!(get(&path, ACL), Some(acl_for(4711)));
    assert_eq!(mode(&path), 0o640, "the ACL's mask");
    // A private file has nothing of what was there.
    write_bytes(&path, IfExists::Replace, b"3").unwrap();
    assert_eq!((get(&path, ACL), get(&path, "user.note")), (None, None));
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_temporary_file_follows_no_links_and_is_removed_when_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let opened = File::open(directory.path()).unwrap();
    let create = |name: &str| Temporary::create(opened.as_fd(), name.to_owned(), Access::Owner);
    let secret = directory.path().join("secret");
    std::os::unix::fs::symlink(&secret, directory.path().join("link")).unwrap();
    let error = create("link").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(!secret.exists());
    drop(create("a").unwrap());
    create("b").unwrap().remove().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}
