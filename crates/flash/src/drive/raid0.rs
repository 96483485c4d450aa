//! RAID-0: chunks distributed over the members in turn.

use thiserror::Error;

use super::{Device, Range, Request};
use crate::{
    ftl::Counters,
    time::{Divisor, Kind, Recorder},
};

/// The layout of an array: chunk `c` is on member `c % members`, as its `c / members`-th chunk
/// (Linux md with members of equal size, and dm-stripe).
#[derive(Debug, Clone, Copy)]
pub struct Stripe {
    members: Divisor,
    chunk: Divisor,
}

impl Stripe {
    /// Creates a layout.
    ///
    /// # Panics
    /// If there are no members, or chunks have no pages.
    pub const fn new(members: u32, chunk_pages: u32) -> Self {
        Self {
            members: Divisor::new(members),
            chunk: Divisor::new(chunk_pages),
        }
    }

    /// The member that holds a page, and the page's number there.
    #[inline]
    pub const fn locate(self, page: u32) -> (u32, u32) {
        let chunk = self.chunk.quotient(page);
        let within = page - chunk * self.chunk.get();
        let row = self.members.quotient(chunk);
        let member = chunk - row * self.members.get();
        (member, row * self.chunk.get() + within)
    }

    /// Splits a range at chunk boundaries, in order, as reads and writes reach the members.
    pub fn by_chunk(self, range: Range) -> impl Iterator<Item = (u32, Range)> {
        let end = range.first_page + range.pages;
        let mut next = range.first_page;
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let (member, first_page) = self.locate(next);
                let room = self.chunk.get() - self.chunk.remainder(next);
                let pages = room.min(end - next);
                next += pages;
                (member, Range { first_page, pages })
            })
        })
    }

    /// The part of a range on one member, which is a single range however many chunks it covers;
    /// empty if the range does not touch the member.
    pub fn of_member(self, member: u32, range: Range) -> Range {
        // Pages of this member among the first `pages` pages of the array.
        let before = |pages: u32| {
            let chunk = self.chunk.quotient(pages);
            let within = pages - chunk * self.chunk.get();
            let row = self.members.quotient(chunk);
            let open = chunk - row * self.members.get();
            row * self.chunk.get()
                + match member.cmp(&open) {
                    std::cmp::Ordering::Less => self.chunk.get(),
                    std::cmp::Ordering::Equal => within,
                    std::cmp::Ordering::Greater => 0,
                }
        };
        let first_page = before(range.first_page);
        Range {
            first_page,
            pages: before(range.first_page + range.pages) - first_page,
        }
    }
}

/// Why an array cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Raid0Error {
    /// There are no members.
    #[error("an array has no members, expected one or more")]
    NoMembers,
    /// A chunk does not fit on the smallest member.
    #[error("a chunk has {chunk_pages} pages, expected 1 to {member_pages} (the smallest member)")]
    Chunk {
        /// The chunk size given.
        chunk_pages: u32,
        /// Pages of the smallest member.
        member_pages: u32,
    },
    /// The members' page sizes differ.
    #[error("a member has pages of {found} bytes, expected {expected} like the first member")]
    PageBytes {
        /// Page size of the first member.
        expected: u32,
        /// Page size of the member that differs.
        found: u32,
    },
    /// Too many pages for 32-bit numbers.
    #[error("the array has {pages} pages, expected at most 2^32 - 2: use larger pages")]
    TooLarge {
        /// Total pages of all members.
        pages: u64,
    },
}

/// RAID-0 of any number of devices. Each member contributes as many whole chunks as the smallest
/// one has (md would also use the rest of larger members).
#[derive(Debug, Clone)]
pub struct Raid0<D> {
    members: Vec<D>,
    stripe: Stripe,
    pages: u32,
    page_bytes: u32,
    recorder: Recorder,
    /// The member of each staged page, in order.
    route: Vec<u32>,
    next_staged: usize,
    /// Staged pages by member.
    shares: Vec<Vec<u32>>,
}

impl<D: Device> Raid0<D> {
    /// Creates an array.
    ///
    /// # Errors
    /// If the members do not fit together.
    pub fn new(members: Vec<D>, chunk_pages: u32) -> Result<Self, Raid0Error> {
        let Some(member_pages) = members.iter().map(Device::pages).min() else {
            return Err(Raid0Error::NoMembers);
        };
        if chunk_pages == 0 || chunk_pages > member_pages {
            return Err(Raid0Error::Chunk {
                chunk_pages,
                member_pages,
            });
        }
        let expected = members[0].page_bytes();
        if let Some(other) = members
            .iter()
            .find(|member| member.page_bytes() != expected)
        {
            return Err(Raid0Error::PageBytes {
                expected,
                found: other.page_bytes(),
            });
        }
        let used = u64::from(member_pages / chunk_pages * chunk_pages);
        let pages = used.saturating_mul(members.len() as u64);
        let (Ok(count), Ok(total)) = (u32::try_from(members.len()), u32::try_from(pages)) else {
            return Err(Raid0Error::TooLarge { pages });
        };
        if total == u32::MAX {
            return Err(Raid0Error::TooLarge { pages });
        }
        Ok(Self {
            shares: vec![Vec::new(); members.len()],
            members,
            stripe: Stripe::new(count, chunk_pages),
            pages: total,
            page_bytes: expected,
            recorder: Recorder::new(),
            route: Vec::new(),
            next_staged: 0,
        })
    }

    /// The members, in order.
    pub fn members(&self) -> &[D] {
        &self.members
    }

    /// The layout.
    pub const fn stripe(&self) -> Stripe {
        self.stripe
    }

    fn within(&self, range: Range) {
        let end = u64::from(range.first_page) + u64::from(range.pages);
        assert!(
            end <= u64::from(self.pages),
            "pages {} to {end} of an array with {} pages",
            range.first_page,
            self.pages
        );
    }

    /// Stages pages on their members.
    fn stage_by_member(&mut self, pages: &[u32], stage: impl Fn(&mut D, &[u32])) {
        assert!(
            self.next_staged == self.route.len(),
            "what is staged is timed before more is staged"
        );
        self.route.clear();
        self.next_staged = 0;
        for page in pages {
            assert!(
                *page < self.pages,
                "page {page} of an array with {} pages",
                self.pages
            );
            let (member, page) = self.stripe.locate(*page);
            self.shares[member as usize].push(page);
            self.route.push(member);
        }
        for (member, share) in self.members.iter_mut().zip(&mut self.shares) {
            if !share.is_empty() {
                stage(member, share);
                share.clear();
            }
        }
    }

    /// The member of the next staged page.
    #[inline]
    fn next_member(&mut self) -> &mut D {
        let member = self.route[self.next_staged];
        self.next_staged += 1;
        &mut self.members[member as usize]
    }

    /// Passes a request to the members chunk by chunk, and returns when its last part is done.
    fn by_chunk(&mut self, request: Request, mut pass: impl FnMut(&mut D, Request) -> u64) -> u64 {
        self.within(request.range());
        let mut done = request.at_ns;
        for (member, part) in self.stripe.by_chunk(request.range()) {
            let part = Request {
                first_page: part.first_page,
                pages: part.pages,
                ..request
            };
            done = done.max(pass(&mut self.members[member as usize], part));
        }
        self.recorder.record(request.kind, request.at_ns, done);
        done
    }

    /// Passes a discard to the members, one range each (md since Linux 4.12, and dm-stripe), and
    /// returns when the last of them is done.
    fn pass_discard(&mut self, at_ns: u64, range: Range) -> u64 {
        self.within(range);
        let mut done = at_ns;
        for (index, member) in (0..).zip(&mut self.members) {
            let part = self.stripe.of_member(index, range);
            done = done.max(member.discard_ranges(at_ns, &[part]));
        }
        done
    }
}

impl<D: Device> Device for Raid0<D> {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn read(&mut self, request: Request) -> u64 {
        self.by_chunk(request, D::read)
    }

    fn write(&mut self, request: Request) -> u64 {
        self.by_chunk(request, D::write)
    }

    /// Each of the filesystem's ranges becomes a separate command, for the array and its members.
    fn discard_ranges(&mut self, at_ns: u64, ranges: &[Range]) -> u64 {
        if ranges.iter().all(|range| range.pages == 0) {
            return at_ns;
        }
        let mut done = at_ns;
        for range in ranges {
            done = done.max(self.pass_discard(at_ns, *range));
        }
        self.recorder.record(Kind::Discard, at_ns, done);
        done
    }

    fn stage(&mut self, pages: &[u32]) {
        self.stage_by_member(pages, D::stage);
    }

    #[inline]
    fn write_staged(&mut self, at_ns: u64) -> u64 {
        let done = self.next_member().write_staged(at_ns);
        self.recorder.record(Kind::Write, at_ns, done);
        done
    }

    fn stage_discards(&mut self, pages: &[u32]) {
        self.stage_by_member(pages, D::stage_discards);
    }

    #[inline]
    fn discard_staged(&mut self, at_ns: u64) -> u64 {
        let done = self.next_member().discard_staged(at_ns);
        self.recorder.record(Kind::Discard, at_ns, done);
        done
    }

    fn counters(&self) -> Counters {
        Counters::sum(self.members.iter().map(Device::counters))
    }

    fn reset_counters(&mut self) {
        self.members.iter_mut().for_each(Device::reset_counters);
    }

    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}
