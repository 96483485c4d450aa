//! Memory hints for the processor and the kernel, which never affect results. The crate's only
//! unsafe code.

#![allow(unsafe_code)]

/// Prefetches the cache line of `table[index]`. An index beyond the end is ignored.
#[inline(always)]
pub(super) fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = table.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch reads and writes nothing and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

/// Allocates a table of `len` equal values, on huge pages if the kernel has them: random access to
/// 256 MB through pages of 4 KiB misses the TLB every time.
pub(super) fn table<T: Copy>(len: usize, value: T) -> Vec<T> {
    let mut table = Vec::with_capacity(len);
    #[cfg(target_os = "linux")]
    advise_huge_pages(&mut table);
    table.resize(len, value);
    table
}

#[cfg(target_os = "linux")]
fn advise_huge_pages<T>(table: &mut Vec<T>) {
    use rustix::mm::{Advice, madvise};
    const PAGE_BYTES: usize = 4096;
    const HUGE_BYTES: usize = 2 << 20;
    let spare = table.spare_capacity_mut();
    let bytes = size_of_val(spare);
    let start = spare.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE_BYTES);
    if bytes < HUGE_BYTES || skipped > bytes {
        return;
    }
    let len = (bytes - skipped) & !(PAGE_BYTES - 1);
    // SAFETY: the range lies within the capacity that the table owns, and the advice changes which
    // pages back the range, never what they hold.
    let _refused = unsafe { madvise(start.add(skipped).cast(), len, Advice::LinuxHugepage) };
}
