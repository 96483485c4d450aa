//! Outputs of commands as support archives keep them.

use host::parse::outputs::{date, lsblk, mounts as listed, processes, sizes, units};

pub const SEEDS: &[&str] = &[
    "NAME=\"sda\" KNAME=\"sda\" MAJ:MIN=\"8:0\" SIZE=\"61.9M\" DISC-MAX=\"2T\" MODEL=\"a\\x22b\"\n",
    "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/sda1 1000 400 500 45% /mnt/my data\n",
    "F UID PID PPID PRI NI VSZ RSS WCHAN STAT TTY TIME COMMAND\n4 0 9 1 20 0 1 1 - Ss ? 0:38 /usr/bin/mongod -f x\n",
    "-> Unit a.timer:\n\tTimer State: waiting\n\tOnCalendar: weekly\n-> Unit a.service:\n\tService State: dead\n\t-> ExecStart:\n\t\tCommand Line: fstrim -a\n",
    "NEXT        LEFT LAST PASSED UNIT ACTIVATES\nMon 2022-02-14 00:00:00 UTC 3d   -    -      a.timer a.service\n",
    "Thu Feb 10 16:19:17 UTC 2022\n",
];

/// What is mounted as findmnt, mount and the kernel tell.
pub fn mounts(bytes: &[u8]) {
    let text = crate::text(bytes);
    for lines in [
        listed::findmnt(&text),
        listed::mount(&text),
        listed::proc_mounts(&text),
    ] {
        assert!(lines.len() <= text.lines().count());
        assert!(lines.iter().all(|line| line.mount_point.starts_with('/')));
    }
}

/// Outputs of commands as support archives keep them.
pub fn any(bytes: &[u8]) {
    let text = crate::text(bytes);
    for line in lsblk::parse(&text, 100) {
        let _ = (line.bytes("SIZE"), line.bytes("DISC-MAX"));
    }
    for line in sizes::parse(&text) {
        assert!(line.free_bytes <= line.size_bytes);
    }
    for line in processes::parse(&text).unwrap_or_default() {
        assert!(line.comm().len() <= 15);
    }
    for (name, unit) in units::dump(&text) {
        let _ = host::parse::unit_file::parse(&name, &unit.file());
    }
    let _ = units::timers(&text);
    let _ = units::unit_files(&text);
    let _ = date::parse(&text);
}
