//! A change of a configuration file as it is decided, before anybody has looked at the file.

/// A change of a file or link. Paths are absolute without the leading slash, as in [`crate::host::Job::defined_in`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// A file of root's is written, whatever is there.
    Write {
        /// Its path.
        path: String,
        /// What it holds.
        text: String,
    },
    /// A symbolic link is made.
    Link {
        /// Its path.
        path: String,
        /// What it leads to.
        target: String,
    },
    /// The links by which systemd starts a unit are removed, in all `.wants` and `.requires` directories of `/etc`.
    Disable {
        /// The unit's name.
        unit: String,
    },
    /// Nobody may execute a file any more.
    MakeNotExecutable {
        /// Its path.
        path: String,
    },
    /// A `#` is put before a line.
    CommentOut {
        /// The file's path.
        path: String,
        /// 1-based line.
        line: u64,
    },
    /// An option is added to a line of `/etc/fstab`.
    AddMountOption {
        /// 1-based line.
        line: u64,
        /// The mount point that the line is for.
        mount_point: String,
        /// The option.
        option: String,
    },
    /// A line is added at the end of a file, which is made if it is missing, or takes the place of the line with the same
    /// ending.
    SetLine {
        /// The file's path.
        path: String,
        /// The line, without its ending.
        text: String,
        /// Its ending, which tells it from all others.
        ending: String,
    },
}

impl Edit {
    /// The path of what is changed.
    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. }
            | Self::Link { path, .. }
            | Self::MakeNotExecutable { path }
            | Self::CommentOut { path, .. }
            | Self::SetLine { path, .. } => path,
            Self::AddMountOption { .. } => "etc/fstab",
            Self::Disable { .. } => "etc/systemd/system",
        }
    }
}
