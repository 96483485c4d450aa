//! Follows paths and symbolic links inside a tree that is not trusted, as chroot(2) would: absolute
//! targets start at the tree's root and `..` stays below it. Links are interpreted here and never
//! by the kernel, so that none can lead out.

use crate::unread::Unread;

/// As the kernel's own limit (`MAXSYMLINKS` of `include/linux/namei.h`).
const LINKS_MAX: usize = 40;
/// Path components looked at for one path, those of links included. Real paths need a few dozen;
/// 40 links of 4096 bytes could ask for 80,000.
const STEPS_MAX: usize = 1000;

/// A tree of files.
pub(super) trait Tree {
    /// A directory in it.
    type Dir: Clone;

    /// The top.
    fn root(&self) -> Result<Self::Dir, Unread>;

    /// The directory above; the top is above itself.
    fn parent(&self, dir: &Self::Dir) -> Self::Dir;

    /// What stands under a name, links not followed. `name` is not empty, `.` or `..`, and holds
    /// no slash and no NUL.
    fn look(&self, dir: &Self::Dir, name: &str) -> Result<Entry<Self::Dir>, Unread>;
}

/// What stands under a name.
pub(super) enum Entry<D> {
    Directory(D),
    /// A symbolic link with its text.
    Link(String),
    /// A file or anything else that nothing is below of.
    Leaf,
}

/// Where a path leads.
pub(super) enum Found<D> {
    Directory(D),
    /// Only where the last link is not followed.
    Link(String),
    Leaf {
        parent: D,
        name: String,
    },
}

/// What happens to a symbolic link at the very end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LastLink {
    Follow,
    Keep,
}

/// Follows a path from the top of a tree.
///
/// # Errors
/// [`Unread::NotFound`], what [`Tree::look`] says, and [`Unread::Failed`] for loops of links.
pub(super) fn resolve<T: Tree>(
    tree: &T,
    path: &str,
    last: LastLink,
) -> Result<Found<T::Dir>, Unread> {
    if path.contains('\0') {
        return Err(Unread::NotFound);
    }
    let mut dir = tree.root()?;
    // What is still to go, the next component last.
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
