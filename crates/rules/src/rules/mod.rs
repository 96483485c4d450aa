//! The rules, one file each.

pub(crate) mod fs001;
pub(crate) mod fs002;
pub(crate) mod fs003;
pub(crate) mod fs004;
pub(crate) mod fs005;
pub(crate) mod sched001;
pub(crate) mod sched002;
pub(crate) mod trim001;
pub(crate) mod trim002;
pub(crate) mod trim003;
pub(crate) mod trim004;
pub(crate) mod trim005;
pub(crate) mod trim006;
pub(crate) mod trim007;
pub(crate) mod trim008;
pub(crate) mod trim009;
pub(crate) mod trim010;
pub(crate) mod trim011;
pub(crate) mod trim012;
pub(crate) mod trim013;
