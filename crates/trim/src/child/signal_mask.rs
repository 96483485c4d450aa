//! The mask of blocked signals, which exec hands on: a caller that blocks SIGTERM would make the
//! child deaf to it. Unsafe because the interface to it is C's.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;

/// Unblocks all signals of the calling thread. One that was sent while it was blocked arrives now.
///
/// # Errors
/// As `pthread_sigmask(3)`, which has none to give for these arguments.
pub fn clear() -> io::Result<()> {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is that of a set, which `sigemptyset` writes and does not read.
    if unsafe { libc::sigemptyset(none.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the set was written above, and a null pointer means that the old mask is not wanted.
    let error =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut()) };
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
