//! Real-time priority of a thread, which C's interface alone gives: this module contains no other unsafe code.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;

/// The lowest real-time priority, which already comes before all threads without one.
const PRIORITY: i32 = 1;

/// Gives the calling thread the CPU whenever it can run, before all threads without a real-time priority, instead of at
/// the next tick of the scheduler. Children do not inherit it. Only for threads that mostly wait.
///
/// # Errors
/// As `sched_setscheduler(2)`: without `CAP_SYS_NICE`, or in a control group of version 1 without real-time budget.
pub fn prefer_this_thread() -> io::Result<()> {
    let mut parameter = MaybeUninit::<libc::sched_param>::zeroed();
    // SAFETY: all bytes zero are a valid `sched_param`, which consists of integers.
    let parameter = unsafe { parameter.assume_init_mut() };
    parameter.sched_priority = PRIORITY;
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the pointer is to an initialised `sched_param`, which the call reads; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, policy, parameter) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_has_it_and_no_other() {
        // SAFETY: the call reads nothing of ours.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let other = policy();
        std::thread::spawn(move || match prefer_this_thread() {
            Ok(()) => assert_eq!(policy() & !libc::SCHED_RESET_ON_FORK, libc::SCHED_RR),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        })
        .join()
        .unwrap();
        assert_eq!(policy(), other);
    }
}
