//! Clears the mask of blocked signals, which survives exec: a caller that blocks SIGTERM would make
//! the child ignore it. Unsafe because the interface is C's.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;

/// Unblocks all signals of the calling thread. Signals that were pending are delivered now.
///
/// # Errors
/// As `pthread_sigmask(3)`, which cannot fail with these arguments.
pub fn clear() -> io::Result<()> {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is to a `sigset_t`, which `sigemptyset` writes and does not read.
    if unsafe { libc::sigemptyset(none.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the set was initialised above; a null pointer means that the old mask is not
    // returned.
    let error =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut()) };
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
