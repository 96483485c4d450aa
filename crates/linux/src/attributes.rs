//! Extended attributes, by which a file that replaces another stays as accessible as that was: POSIX ACLs, `SELinux`
//! labels, and what users attached (xattr(7)).

use rustix::fd::AsFd;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;

/// Longest list of names, and longest value, in bytes (`XATTR_LIST_MAX` and `XATTR_SIZE_MAX` in linux/limits.h).
const BYTES_MAX: usize = 64 << 10;

/// Attributes that are bound to a file's contents or inode: hashes and signatures of both, and capabilities, which the
/// kernel itself drops with every write.
const BOUND: [&CStr; 3] = [c"security.ima", c"security.evm", c"security.capability"];

/// A file's attributes, without those that are bound to its contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<CString, Vec<u8>>);

/// Reads the attributes of an open file; none if its filesystem has no attributes. Those below `trusted.` are seen by
/// root only.
///
/// # Errors
/// Those of flistxattr(2) and fgetxattr(2), with the attribute's name.
pub fn read(file: impl AsFd) -> io::Result<Attributes> {
    let mut list = vec![0; BYTES_MAX];
    let len = match flistxattr(&file, &mut list[..]) {
        Ok(len) => len,
        Err(Errno::NOTSUP) => return Ok(Attributes::default()),
        Err(error) => return Err(named("the list of its extended attributes", error)),
    };
    let mut value = vec![0; BYTES_MAX];
    let mut attributes = BTreeMap::new();
    // Each name ends with a zero byte.
    for name in list[..len].split_inclusive(|&byte| byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        if BOUND.contains(&name) {
            continue;
        }
        match fgetxattr(&file, name, &mut value[..]) {
            Ok(len) => attributes.insert(name.to_owned(), value[..len].to_vec()),
            // It was removed meanwhile.
            Err(Errno::NODATA) => None,
            Err(error) => return Err(named(&shown(name), error)),
        };
    }
    Ok(Attributes(attributes))
}

impl FromIterator<(CString, Vec<u8>)> for Attributes {
    fn from_iter<T: IntoIterator<Item = (CString, Vec<u8>)>>(attributes: T) -> Self {
        let attributes = attributes.into_iter();
        Self(
            attributes
                .filter(|(name, _)| !BOUND.contains(&name.as_c_str()))
                .collect(),
        )
    }
}

impl Attributes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&CStr, &[u8])> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Gives a new file these attributes, and takes away the others that it got from its folder, such as the folder's
    /// default ACL; labels of the `security.` and `trusted.` kinds that are not among these stay.
    ///
    /// An ACL includes the permission bits. Call this before fchmod(2), and after fchown(2).
    ///
    /// # Errors
    /// Those of fsetxattr(2) and fremovexattr(2), with the attribute's name.
    pub fn apply(&self, file: impl AsFd) -> io::Result<()> {
        let has = read(&file)?;
        for name in has.0.keys().filter(|name| !self.0.contains_key(*name)) {
            let kept = [&b"security."[..], b"trusted."];
            if kept.iter().any(|kind| name.to_bytes().starts_with(kind)) {
                continue;
            }
            fremovexattr(&file, name.as_c_str()).map_err(|error| named(&shown(name), error))?;
        }
        for (name, value) in &self.0 {
            // A label that is right already may be one that this process may not set.
            if has.0.get(name) == Some(value) {
                continue;
            }
            fsetxattr(&file, name.as_c_str(), value, XattrFlags::empty())
                .map_err(|error| named(&shown(name), error))?;
        }
        Ok(())
    }
}

fn shown(name: &CStr) -> String {
    format!("its extended attribute {}", name.to_string_lossy())
}

fn named(what: &str, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{what} cannot be kept: {error}"))
}

/// ACLs for the tests of those who replace files.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    use std::path::Path;

    /// Name of the attribute that holds a file's ACL.
    pub const ACL: &str = "system.posix_acl_access";

    /// Returns an ACL as its attribute holds it (`posix_acl_xattr.h`): `rw-` for the owner, `r--` for a user, nothing for
    /// the group, `r--` as the mask and nothing for others.
    pub fn acl_for(uid: u32) -> Vec<u8> {
        const ANY: u32 = u32::MAX;
        let entries: [(u16, u16, u32); 5] = [
            (0x01, 6, ANY),
            (0x02, 4, uid),
            (0x04, 0, ANY),
            (0x10, 4, ANY),
            (0x20, 0, ANY),
        ];
        let mut bytes = 2_u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(permissions.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    /// Sets an attribute; returns `false` where the filesystem has none of its kind.
    ///
    /// # Panics
    /// If it cannot be set for another reason.
    pub fn set(path: &Path, name: &str, value: &[u8]) -> bool {
        let flags = rustix::fs::XattrFlags::empty();
        match rustix::fs::setxattr(path, name, value, flags) {
            Ok(()) => true,
            Err(rustix::io::Errno::NOTSUP) => {
                eprintln!("skipped: {} has no {name}", path.display());
                false
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// Returns attributes that no file can have.
    pub fn impossible() -> super::Attributes {
        super::Attributes([(c"nonsense.note".to_owned(), vec![1])].into())
    }

    /// Returns an attribute; `None` if the file has none of that name.
    pub fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
        let mut value = vec![0; super::BYTES_MAX];
        let len = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
        value.truncate(len);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{ACL, acl_for, get, impossible, set};
    use super::*;
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_new_file_gets_the_attributes_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        File::create(&old).unwrap();
        // What is created here lets user 4242 read it.
        if !set(&old, "user.note", b"kept\0") || !set(&old, ACL, &acl_for(4711)) {
            return;
        }
        assert!(set(
            folder.path(),
            "system.posix_acl_default",
            &acl_for(4242)
        ));
        File::create(&new).unwrap();
        assert!(get(&new, ACL).is_some(), "the folder's default");
        assert!(set(&new, "user.other", b"x"));
        let target = OpenOptions::new().write(true).open(&new).unwrap();
        let attributes = read(File::open(&old).unwrap()).unwrap();
        attributes.apply(&target).unwrap();
        assert_eq!(get(&new, ACL), Some(acl_for(4711)));
        assert_eq!(get(&new, "user.note").as_deref(), Some(&b"kept\0"[..]));
        assert_eq!(get(&new, "user.other"), None);
        assert_eq!(read(&target).unwrap(), attributes);
        assert_eq!(std::fs::metadata(&new).unwrap().mode() & 0o777, 0o640);
        // A file without an ACL is no more open than its mode says.
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600)).unwrap();
        Attributes::default().apply(&target).unwrap();
        assert_eq!(get(&new, ACL), None);
    }

    #[test]
    fn what_is_bound_to_the_contents_is_left_out() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        // cap_net_raw+ep (`struct vfs_cap_data`, revision 2).
        let capability: Vec<u8> = [0x0200_0001_u32, 0x2000, 0, 0, 0]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        if !set(file.path(), "security.capability", &capability) {
            return;
        }
        assert!(get(file.path(), "security.capability").is_some());
        let attributes = read(file.as_file()).unwrap();
        assert!(!attributes.0.contains_key(c"security.capability"));
    }

    #[test]
    fn what_cannot_be_set_is_named() {
        let file = tempfile::tempfile().unwrap();
        let error = impossible().apply(&file).unwrap_err();
        assert!(error.to_string().contains("nonsense.note"), "{error}");
    }

    #[test]
    fn a_filesystem_without_attributes_has_none() {
        let file = File::open("/proc/self/stat").unwrap();
        let attributes = read(&file).unwrap();
        // SELinux labels files of procfs as well.
        assert!(
            attributes
                .0
                .keys()
                .all(|name| name.to_bytes().starts_with(b"security."))
        );
    }
}
