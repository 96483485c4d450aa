//! Files on a drive, so that *deleted* differs from *trimmed*.
//!
//! A filesystem knows which of its pages are free; the drive knows only what it was told. Between a
//! delete and the next trim, a page is free to the filesystem but valid to the drive, so garbage
//! collection keeps moving it. [`Filesystem::space`] counts these pages.
//!
//! **Allocation** is next-fit within groups (`filesystem/free.rs`): a new file goes to a randomly
//! chosen group. It grows in place as long as the page after its last one is free; otherwise it
//! takes the next free extent after the group's cursor that is long enough, or the longest of the
//! next few, like ext4's stream allocation, which continues where it last stopped. Files that grow
//! side by side and die at different times leave the holes that real filesystems have.
//!
//! **Trim**: [`Filesystem::trim`] walks the free extents, as the kernel does for
//! `fstrim`; [`Discarding::Online`] discards at each delete. Either may be [swallowed](Reach) by a
//! layer in between (encryption, a RAID level): the drive then never receives the discards.

mod bits;
mod free;
#[cfg(test)]
mod tests;

use thiserror::Error;

use self::bits::Bits;
pub use self::free::Extent;
use self::free::FreeExtents;
use crate::random::Random;
use crate::workload::Operation;

/// The device below a filesystem, addressed in pages.
pub trait Disk {
    /// Writes `pages` pages starting at `first_page`.
    fn write(&mut self, first_page: u32, pages: u32);
    /// Reads pages.
    fn read(&mut self, first_page: u32, pages: u32);
    /// Discards pages, whose content is no longer needed.
    fn discard(&mut self, first_page: u32, pages: u32);
}

/// Whether deletes are passed to the drive immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discarding {
    /// Deleted pages wait for a trim.
    #[default]
    Never,
    /// Each extent of a deleted file is discarded immediately (mount option `discard`).
    Online,
}

/// What happens to discards on their way to the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// The drive receives and executes them.
    #[default]
    Executed,
    /// The drive receives and ignores them.
    Ignored,
    /// A layer in between drops them.
    Swallowed,
}

/// Settings of a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Pages of the device.
    pub pages: u32,
    /// Groups over which new files are spread, at least 1 and at most one per page; `mkfs.xfs`
    /// creates 4 on a single drive.
    pub groups: u32,
    /// Whether deletes are discarded immediately.
    pub discarding: Discarding,
    /// What happens to discards on their way to the drive.
    pub reach: Reach,
    /// Whether the drive initially holds data in every page, because nothing was discarded by mkfs.
    pub dirty: bool,
    /// Seed for choosing groups.
    pub seed: u64,
}

impl Settings {
    /// A new filesystem on a discarded drive: four groups, no online discards.
    pub fn new(pages: u32) -> Self {
        Self {
            pages,
            groups: 4.min(pages.max(1)),
            discarding: Discarding::default(),
            reach: Reach::default(),
            dirty: false,
            seed: 1,
        }
    }
}

/// Why an operation was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FilesystemError {
    /// Not enough free pages.
    #[error("{wanted} pages do not fit: {free} of {pages} are free")]
    Full {
        /// Pages requested.
        wanted: u32,
        /// Free pages.
        free: u32,
        /// Pages of the device.
        pages: u32,
    },
    /// There is no such file.
    #[error("there is no file {0}")]
    Missing(u32),
    /// The file exists already.
    #[error("there is a file {0} already")]
    Exists(u32),
    /// A range reaches beyond the file's end.
    #[error("file {file} has {pages} pages; expected a range up to page {end} to lie within")]
    BeyondEnd {
        /// The file.
        file: u32,
        /// Its length.
        pages: u32,
        /// End of the range.
        end: u64,
    },
}

/// Page counts by state; `live + free` is the whole device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Pages in files.
    pub live_pages: u32,
    /// Pages in no file.
    pub free_pages: u32,
    /// Free pages for which the drive still holds data: deleted but not trimmed.
    pub free_untrimmed_pages: u32,
}

/// Result of a trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trimmed {
    /// Discards sent.
    pub ranges: u64,
    /// Pages in these discards, which `fstrim` reports as trimmed.
    pub pages: u64,
    /// Pages for which the drive held data until now, which is the actual benefit. 0 unless the
    /// drive executes discards.
    pub released_pages: u64,
}

#[derive(Debug, Clone)]
struct File {
    /// Extents in file order, each with its offset in the file.
    extents: Vec<(u32, Extent)>,
    pages: u32,
    group: u32,
}

/// A filesystem. Files are identified by numbers that the user chooses.
#[derive(Debug, Clone)]
pub struct Filesystem {
    settings: Settings,
    free: FreeExtents,
    files: Vec<Option<File>>,
    random: Random,
    live_pages: u32,
    /// Pages for which the drive holds data; includes all live pages.
    held: Bits,
    free_untrimmed: u32,
}

/// Makes these random numbers differ from a workload's with the same seed.
const GROUPS: u64 = u64::from_be_bytes(*b"fs::grou");

impl Filesystem {
    /// Creates an empty filesystem.
    ///
    /// # Panics
    /// If there are no pages, no groups, or more groups than pages.
    pub fn new(settings: Settings) -> Self {
        assert!(settings.pages > 0 && (1..=settings.pages).contains(&settings.groups));
        let mut held = Bits::new(settings.pages);
        let mut untrimmed = 0;
        if settings.dirty {
            held.set(0, settings.pages);
            untrimmed = settings.pages;
        }
        Self {
            settings,
            free: FreeExtents::new(settings.pages, settings.groups),
            files: Vec::new(),
            random: Random::new(settings.seed ^ GROUPS),
            live_pages: 0,
            held,
            free_untrimmed: untrimmed,
        }
    }

    /// The settings it was created with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Page counts by state.
    pub fn space(&self) -> Space {
        Space {
            live_pages: self.live_pages,
            free_pages: self.free.pages(),
            free_untrimmed_pages: self.free_untrimmed,
        }
    }

    /// Whether a page belongs to a file.
    pub fn is_live(&self, page: u32) -> bool {
        page < self.settings.pages && !self.free.contains(page)
    }

    /// The length of a file, or `None` if there is no such file.
    #[cfg(test)]
    pub(crate) fn file_pages(&self, file: u32) -> Option<u32> {
        Some(self.files.get(file as usize)?.as_ref()?.pages)
    }

    /// The extents of a file in file order; empty if there is no such file.
    #[cfg(test)]
    pub(crate) fn extents(&self, file: u32) -> impl Iterator<Item = Extent> {
        let file = self.files.get(file as usize).and_then(Option::as_ref);
        file.into_iter()
            .flat_map(|file| file.extents.iter().map(|&(_, extent)| extent))
    }

    /// Performs a workload's operation.
    ///
    /// # Errors
    /// Same as the individual operations.
    pub fn apply(
        &mut self,
        operation: Operation,
        disk: &mut impl Disk,
    ) -> Result<(), FilesystemError> {
        match operation {
            Operation::Create { file } => self.create(file),
            Operation::Append { file, pages } => self.append(file, pages, disk),
            Operation::Overwrite {
                file,
                offset,
                pages,
            } => self.overwrite(file, offset, pages, disk),
            Operation::Read {
                file,
                offset,
                pages,
            } => self.read(file, offset, pages, disk),
            Operation::Delete { file } => self.delete(file, disk).map(|_| ()),
        }
    }

    /// Creates an empty file.
    ///
    /// # Errors
    /// If the file exists.
    pub fn create(&mut self, file: u32) -> Result<(), FilesystemError> {
        let index = file as usize;
        if index >= self.files.len() {
            self.files.resize_with(index + 1, || None);
        }
        if self.files[index].is_some() {
            return Err(FilesystemError::Exists(file));
        }
        self.files[index] = Some(File {
            extents: Vec::new(),
            pages: 0,
            group: self.random.below_u32(self.settings.groups),
        });
        Ok(())
    }

    /// Appends pages to a file.
    ///
    /// # Errors
    /// If there is no such file, or not enough free pages; nothing is written.
    ///
    /// # Panics
    /// Never: the number of free pages has been checked.
    pub fn append(
        &mut self,
        file: u32,
        pages: u32,
        disk: &mut impl Disk,
    ) -> Result<(), FilesystemError> {
        let entry = lookup(&mut self.files, file)?;
        if pages > self.free.pages() {
            return Err(FilesystemError::Full {
                wanted: pages,
                free: self.free.pages(),
                pages: self.settings.pages,
            });
        }
        let mut left = pages;
        while left > 0 {
            let behind = (entry.extents.last()).map(|(_, last)| last.first_page + last.pages);
            let extent = self
                .free
                .allocate(left, entry.group, behind)
                .expect("counted above");
            match entry.extents.last_mut() {
                Some((_, last)) if Some(extent.first_page) == behind => last.pages += extent.pages,
                _ => entry.extents.push((entry.pages, extent)),
            }
            entry.pages += extent.pages;
            left -= extent.pages;
            self.live_pages += extent.pages;
            self.free_untrimmed -= self.held.count(extent.first_page, extent.pages);
            self.held.set(extent.first_page, extent.pages);
            disk.write(extent.first_page, extent.pages);
        }
        Ok(())
    }

    /// Overwrites pages of a file in place.
    ///
    /// # Errors
    /// If there is no such file, or the range is beyond its end; nothing is written.
    pub fn overwrite(
        &mut self,
        file: u32,
        offset: u32,
        pages: u32,
        disk: &mut impl Disk,
    ) -> Result<(), FilesystemError> {
        lookup(&mut self.files, file)?.within(file, offset, pages, |extent| {
            disk.write(extent.first_page, extent.pages);
        })
    }

    /// Reads pages of a file.
    ///
    /// # Errors
    /// If there is no such file, or the range is beyond its end.
    pub fn read(
        &mut self,
        file: u32,
        offset: u32,
        pages: u32,
        disk: &mut impl Disk,
    ) -> Result<(), FilesystemError> {
        lookup(&mut self.files, file)?.within(file, offset, pages, |extent| {
            disk.read(extent.first_page, extent.pages);
        })
    }

    /// Deletes a file, and returns the number of pages freed.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn delete(&mut self, file: u32, disk: &mut impl Disk) -> Result<u32, FilesystemError> {
        let entry = (self.files.get_mut(file as usize).and_then(Option::take))
            .ok_or(FilesystemError::Missing(file))?;
        for &(_, extent) in &entry.extents {
            self.free.free(extent);
            self.live_pages -= extent.pages;
            self.free_untrimmed += extent.pages;
            if self.settings.discarding == Discarding::Online {
                self.discard(extent, disk);
            }
        }
        Ok(entry.pages)
    }

    /// Discards the free extents, like `fstrim`.
    pub fn trim(&mut self, disk: &mut impl Disk) -> Trimmed {
        self.discard_all(&self.trim_plan(), disk)
    }

    /// The discards that [`Filesystem::trim`] would send, for sending them gradually with
    /// [`Filesystem::discard_free`].
    pub fn trim_plan(&self) -> Vec<Extent> {
        self.free.within(0..self.settings.pages).collect()
    }

    /// Discards the parts of an extent that are still free: files may have allocated other parts
    /// since the trim was planned.
    pub fn discard_free(&mut self, extent: Extent, disk: &mut impl Disk) -> Trimmed {
        let pages = extent.first_page..extent.first_page + extent.pages;
        let parts: Vec<Extent> = self.free.within(pages).collect();
        self.discard_all(&parts, disk)
    }

    fn discard_all(&mut self, free: &[Extent], disk: &mut impl Disk) -> Trimmed {
        let mut done = Trimmed::default();
        for &extent in free {
            done.ranges += 1;
            done.pages += u64::from(extent.pages);
            done.released_pages += u64::from(self.discard(extent, disk));
        }
        done
    }

    /// Discards a free extent, and returns the number of pages for which the drive held data.
    fn discard(&mut self, extent: Extent, disk: &mut impl Disk) -> u32 {
        if self.settings.reach != Reach::Swallowed {
            disk.discard(extent.first_page, extent.pages);
        }
        if self.settings.reach != Reach::Executed {
            return 0;
        }
        let released = self.held.count(extent.first_page, extent.pages);
        self.held.clear(extent.first_page, extent.pages);
        self.free_untrimmed -= released;
        released
    }

    /// Verifies that every page is free or in exactly one file, and that all counts are correct.
    ///
    /// # Errors
    /// If an invariant is violated, with a description of the first violation.
    #[cfg(test)]
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut used = Bits::new(self.settings.pages);
        let mut live = 0u64;
        for (number, file) in self.files.iter().enumerate() {
            let Some(file) = file else { continue };
            let mut offset = 0;
            for &(at, extent) in &file.extents {
                if at != offset || extent.pages == 0 {
                    return Err(format!(
                        "file {number}: an extent at {at}, expected {offset}"
                    ));
                }
                if used.count(extent.first_page, extent.pages) > 0 {
                    return Err(format!("file {number}: {extent:?} belongs to another, too"));
                }
                used.set(extent.first_page, extent.pages);
                if self.held.count(extent.first_page, extent.pages) != extent.pages {
                    return Err(format!("file {number}: {extent:?} is live and not held"));
                }
                offset += extent.pages;
            }
            if offset != file.pages {
                return Err(format!("file {number}: {offset} of {} pages", file.pages));
            }
            live += u64::from(offset);
        }
        self.free.check(&used)?;
        let all = self.settings.pages;
        let counts = [
            ("live", live, self.live_pages),
            ("live and free", live + u64::from(self.free.pages()), all),
            (
                "untrimmed",
                u64::from(self.held.count(0, all)) - live,
                self.free_untrimmed,
            ),
        ];
        for (what, counted, kept) in counts {
            if counted != u64::from(kept) {
                return Err(format!("{what}: {counted} counted, {kept} kept"));
            }
        }
        Ok(())
    }
}

impl File {
    /// Calls `each` with the extents that hold a range of the file.
    fn within(
        &self,
        file: u32,
        offset: u32,
        pages: u32,
        mut each: impl FnMut(Extent),
    ) -> Result<(), FilesystemError> {
        let end = u64::from(offset) + u64::from(pages);
        if end > u64::from(self.pages) {
            return Err(FilesystemError::BeyondEnd {
                file,
                pages: self.pages,
                end,
            });
        }
        let (mut offset, mut left) = (offset, pages);
        let mut index = self.extents.partition_point(|&(at, _)| at <= offset);
        while left > 0 {
            let (at, extent) = self.extents[index - 1];
            let skipped = offset - at;
            let taken = left.min(extent.pages - skipped);
            each(Extent {
                first_page: extent.first_page + skipped,
                pages: taken,
            });
            offset += taken;
            left -= taken;
            index += 1;
        }
        Ok(())
    }
}

fn lookup(files: &mut [Option<File>], file: u32) -> Result<&mut File, FilesystemError> {
    (files.get_mut(file as usize))
        .and_then(Option::as_mut)
        .ok_or(FilesystemError::Missing(file))
}
