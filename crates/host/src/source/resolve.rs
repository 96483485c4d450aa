//! Resolves paths and symbolic links inside an untrusted tree, as chroot(2) would: absolute targets
//! start at the tree's root and `..` never leaves it. Links are interpreted here and never by the
//! kernel, so that none can lead outside.

use crate::unread::Unread;

/// The kernel's own limit (`MAXSYMLINKS` in `include/linux/namei.h`).
const LINKS_MAX: usize = 40;
/// Maximum number of components examined for one path, including those in links. Real paths need a
/// few dozen; 40 links of 4096 bytes could require 80,000.
const STEPS_MAX: usize = 1000;

/// A file tree.
pub(super) trait Tree {
    /// A directory in the tree.
    type Dir: Clone;

    /// Returns the root.
    fn root(&self) -> Result<Self::Dir, Unread>;

    /// Returns the parent directory; the root is its own parent.
    fn parent(&self, dir: &Self::Dir) -> Self::Dir;

    /// Returns what a name refers to, without following links. `name` is not empty, `.` or `..`,
    /// and contains no slash and no NUL.
    fn look(&self, dir: &Self::Dir, name: &str) -> Result<Entry<Self::Dir>, Unread>;
}

/// What a name refers to.
pub(super) enum Entry<D> {
    Directory(D),
    /// A symbolic link with its target.
    Link(String),
    /// A file, or anything else that cannot contain entries.
    Leaf,
}

/// What a path refers to.
pub(super) enum Found<D> {
    Directory(D),
    /// Only if the last link is not followed.
    Link(String),
    Leaf {
        parent: D,
        name: String,
    },
}

/// What to do with a symbolic link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LastLink {
    Follow,
    Keep,
}

/// Resolves a path from the root of a tree.
///
/// # Errors
/// [`Unread::NotFound`], errors of [`Tree::look`], and [`Unread::Failed`] for loops of links.
pub(super) fn resolve<T: Tree>(
    tree: &T,
    path: &str,
    last: LastLink,
) -> Result<Found<T::Dir>, Unread> {
    if path.contains('\0') {
        return Err(Unread::NotFound);
    }
    let mut dir = tree.root()?;
    // The remaining components, the next one last.
    let mut ahead: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
    let mut links = 0;
    let mut steps = 0;
    while let Some(name) = ahead.pop() {
        steps += 1;
        if steps > STEPS_MAX {
            return Err(Unread::Failed(format!(
                "more than {STEPS_MAX} path components through symbolic links"
            )));
        }
        match name.as_str() {
            "" | "." => continue,
            ".." => {
                dir = tree.parent(&dir);
                continue;
            }
            _ => {}
        }
        match tree.look(&dir, &name)? {
            Entry::Directory(below) => dir = below,
            Entry::Leaf if ahead.is_empty() => return Ok(Found::Leaf { parent: dir, name }),
            Entry::Leaf => return Err(Unread::NotFound),
            Entry::Link(text) if ahead.is_empty() && last == LastLink::Keep => {
                return Ok(Found::Link(text));
            }
            Entry::Link(text) => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Unread::Failed(format!(
                        "more than {LINKS_MAX} symbolic links"
                    )));
                }
                if text.is_empty() || text.contains('\0') {
                    return Err(Unread::NotFound);
                }
                if text.starts_with('/') {
                    dir = tree.root()?;
                }
                ahead.extend(text.rsplit('/').map(str::to_owned));
            }
        }
    }
    Ok(Found::Directory(dir))
}
