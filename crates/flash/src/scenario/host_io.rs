//! Connects the filesystem to the device: splits operations into host requests and limits how many
//! are in flight.

use crate::drive::{Device, Drive, Queue, Raid0, Request};
use crate::filesystem::Disk;
use crate::ftl::Counters;
use crate::time::{Kind, Recorder};

/// A single drive or an array.
pub(super) enum Drives {
    One(Box<Drive>),
    Many(Box<Raid0<Drive>>),
}

impl Drives {
    pub(super) fn device(&mut self) -> &mut dyn Device {
        match self {
            Self::One(drive) => drive.as_mut(),
            Self::Many(array) => array.as_mut(),
        }
    }

    fn shared(&self) -> &dyn Device {
        match self {
            Self::One(drive) => drive.as_ref(),
            Self::Many(array) => array.as_ref(),
        }
    }

    pub(super) fn members(&self) -> &[Drive] {
        match self {
            Self::One(drive) => std::slice::from_ref(drive),
            Self::Many(array) => array.members(),
        }
    }

    pub(super) fn pages(&self) -> u32 {
        self.shared().pages()
    }

    pub(super) fn counters(&self) -> Counters {
        self.shared().counters()
    }

    pub(super) fn recorder(&self) -> &Recorder {
        self.shared().recorder()
    }
}

/// The path from the filesystem to the device.
pub(super) struct HostIo {
    pub(super) drives: Drives,
    pub(super) queue: Queue,
    pub(super) request_pages: u32,
    pub(super) discard_pages: u32,
    /// When the last submitted request is done.
    pub(super) done_ns: u64,
}

impl HostIo {
    fn submit(&mut self, kind: Kind, first_page: u32, pages: u32) {
        let most = if kind == Kind::Discard {
            self.discard_pages
        } else {
            self.request_pages
        };
        let end = first_page + pages;
        let mut next = first_page;
        while next < end {
            let pages = most.min(end - next);
            let device = self.drives.device();
            self.done_ns = self.queue.submit(device, kind, next, pages);
            next += pages;
        }
    }

    /// When all submitted work is done and the drives are idle.
    pub(super) fn idle_ns(&self) -> u64 {
        let members = self.drives.members().iter();
        let idle = members.map(|drive| drive.clock().idle_ns()).max();
        idle.unwrap_or(0).max(self.queue.drained_ns())
    }

    /// Discards outside the queue, one after the other from `at_ns` on; returns when the last is
    /// done.
    pub(super) fn discard_from(&mut self, mut at_ns: u64, first_page: u32, pages: u32) -> u64 {
        let end = first_page + pages;
        let mut next = first_page;
        while next < end {
            let pages = self.discard_pages.min(end - next);
            at_ns = self.drives.device().submit(Request {
                at_ns,
                kind: Kind::Discard,
                first_page: next,
                pages,
            });
            next += pages;
        }
        at_ns
    }
}

impl Disk for HostIo {
    fn write(&mut self, first_page: u32, pages: u32) {
        self.submit(Kind::Write, first_page, pages);
    }

    fn read(&mut self, first_page: u32, pages: u32) {
        self.submit(Kind::Read, first_page, pages);
    }

    fn discard(&mut self, first_page: u32, pages: u32) {
        self.submit(Kind::Discard, first_page, pages);
    }
}

/// Sends a trim's discards outside the queue.
pub(super) struct TrimIo<'a> {
    pub(super) host_io: &'a mut HostIo,
    /// When the next discard starts.
    pub(super) at_ns: u64,
}

impl Disk for TrimIo<'_> {
    fn write(&mut self, _first_page: u32, _pages: u32) {
        unreachable!("a trim writes nothing");
    }

    fn read(&mut self, _first_page: u32, _pages: u32) {
        unreachable!("a trim reads nothing");
    }

    fn discard(&mut self, first_page: u32, pages: u32) {
        self.at_ns = self.host_io.discard_from(self.at_ns, first_page, pages);
    }
}
