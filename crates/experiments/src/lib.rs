//! The articles' experiments: makes filesystems, starts a server on each, loads it, and measures.
//!
//! What an experiment makes on this machine is below one [`Workspace`], and whatever ends it, the next one removes
//! it: processes, mounts, loop devices and files.

mod control_group;
mod disk;
pub mod filesystems;
mod leftovers;
mod place;
mod program;
mod register;
pub mod server;
pub mod trims;
mod variant;
mod workspace;

pub use bench::path_error::PathError;
pub use control_group::GroupLimits;
pub use disk::{Disk, DiskError, Filesystem};
pub use leftovers::LeftoverError;
pub use place::{Claim, Place};
pub use program::ProgramError;
pub use register::RegisterError;
pub use variant::{Compression, FilesystemKind, Variant};
pub use workspace::{Removed, Workspace, WorkspaceError};
