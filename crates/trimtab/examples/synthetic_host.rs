//! Writes the files of a large host into a directory, for `trimtab check --root` under load: 64
//! NVMe drives in 8 md arrays, 200 mounts, 500 jobs, a MongoDB and 2,000 processes.
//!
//! `cargo run -p trimtab --example synthetic_host -- DIRECTORY`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const DRIVES: usize = 64;
const ARRAYS: usize = 8;
const MOUNTS: usize = 200;
const JOBS: usize = 500;
const PROCESSES: usize = 2000;

struct Tree(PathBuf);

impl Tree {
    fn file(&self, path: &str, content: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().expect("paths have a parent"))
            .expect("a writable directory");
        std::fs::write(path, content).expect("a writable directory");
    }

    fn script(&self, path: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.file(path, content);
        std::fs::set_permissions(self.0.join(path), PermissionsExt::from_mode(0o755))
            .expect("a mode");
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().expect("paths have a parent"))
            .expect("a writable directory");
        std::os::unix::fs::symlink(target, path).expect("a writable directory");
    }

    fn queue(&self, device: &str, minimum: usize, optimal: usize) {
        for (name, value) in [
            ("discard_granularity", 512),
            ("discard_max_bytes", 2_199_023_255_040),
            ("discard_max_hw_bytes", 2_199_023_255_040),
            ("logical_block_size", 512),
            ("minimum_io_size", minimum),
            ("optimal_io_size", optimal),
            ("rotational", 0),
        ] {
            self.file(&format!("{device}/queue/{name}"), &format!("{value}\n"));
        }
        self.file(
            &format!("{device}/stat"),
            "9 0 72 1 9000 0 7200000 1 0 1 1 5 0 40960 1 0 0\n",
        );
        self.file(&format!("{device}/ro"), "0\n");
    }
}

fn main() {
    let directory = std::env::args_os()
        .nth(1)
        .expect("usage: synthetic_host DIRECTORY");
    let tree = Tree(Path::new(&directory).to_path_buf());
    drives_and_arrays(&tree);
    let mut mountinfo = String::from("20 1 259:0 / / rw,relatime - ext4 /dev/nvme0n1p1 rw\n");
    let mut fstab = String::from("/dev/nvme0n1p1 / ext4 defaults 0 1\n");
    for index in 0..MOUNTS {
        let array = index % ARRAYS;
        // The first mount of each array is its root, the rest are bind mounts of subdirectories.
        let root = if index < ARRAYS {
            "/".to_owned()
        } else {
            format!("/dir{index}")
        };
        let _ = writeln!(
            mountinfo,
            "{} 20 9:{array} {root} /srv/{index} rw,noatime shared:{index} - xfs /dev/md{array} rw,sunit=1024,swidth=8192",
            100 + index
        );
        let _ = writeln!(fstab, "/dev/md{array} /srv/{index} xfs noatime 0 0");
    }
    tree.file("proc/self/mountinfo", &mountinfo);
    tree.file("etc/fstab", &fstab);
    jobs(&tree);
    processes(&tree);
    tree.file(
        "etc/os-release",
        "ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n",
    );
    tree.file("proc/sys/kernel/osrelease", "6.1.0-56-amd64\n");
    tree.file("proc/sys/kernel/hostname", "synthetic\n");
    tree.file("proc/uptime", "864000.00 1000.00\n");
}

fn drives_and_arrays(tree: &Tree) {
    for drive in 0..DRIVES {
        let controller = format!("sys/devices/pci0000:00/0000:00:{drive:02x}.0/nvme/nvme{drive}");
        let device = format!("{controller}/nvme{drive}n1");
        tree.link(
            &format!("sys/block/nvme{drive}n1"),
            &format!("../{}", &device["sys/".len()..]),
        );
        tree.link(&format!("{device}/device"), &format!("../../nvme{drive}"));
        tree.file(
            &format!("{controller}/model"),
            "SAMSUNG MZQL23T8HCLS-00A07\n",
        );
        tree.file(
            &format!("{controller}/serial"),
            &format!("S64HNE0T{drive:06}\n"),
        );
        tree.file(&format!("{controller}/firmware_rev"), "GDC5602Q\n");
        tree.file(&format!("{controller}/transport"), "pcie\n");
        tree.file(
            &format!("{device}/dev"),
            &format!("259:{}\n", drive * 2 + 1),
        );
        tree.file(&format!("{device}/size"), "7501476528\n");
        tree.queue(&device, 512, 0);
        if drive == 0 {
            tree.file(&format!("{device}/nvme0n1p1/partition"), "1\n");
            tree.file(&format!("{device}/nvme0n1p1/dev"), "259:0\n");
            tree.file(&format!("{device}/nvme0n1p1/start"), "2048\n");
            tree.file(&format!("{device}/nvme0n1p1/size"), "7501474480\n");
        }
    }
    for array in 0..ARRAYS {
        let device = format!("sys/devices/virtual/block/md{array}");
        tree.link(
            &format!("sys/block/md{array}"),
            &format!("../devices/virtual/block/md{array}"),
        );
        tree.file(&format!("{device}/dev"), &format!("9:{array}\n"));
        tree.file(&format!("{device}/size"), "60011282432\n");
        tree.file(&format!("{device}/md/level"), "raid0\n");
        tree.file(&format!("{device}/md/chunk_size"), "524288\n");
        tree.file(&format!("{device}/md/raid_disks"), "8\n");
        tree.file(&format!("{device}/md/array_state"), "clean\n");
        tree.queue(&device, 524_288, 4_194_304);
        for member in 0..DRIVES / ARRAYS {
            let drive = array * (DRIVES / ARRAYS) + member;
            tree.link(
                &format!("{device}/slaves/nvme{drive}n1"),
                &format!(
                    "../../../../pci0000:00/0000:00:{drive:02x}.0/nvme/nvme{drive}/nvme{drive}n1"
                ),
            );
        }
    }
}

fn jobs(tree: &Tree) {
    let mut crontab = String::from(
        "SHELL=/bin/sh\n47 6 * * 7 root cd / && run-parts --report /etc/cron.weekly\n",
    );
    for index in 0..JOBS {
        let _ = writeln!(
            crontab,
            "{} {} * * * root /usr/local/bin/task{index} --quiet",
            index % 60,
            index % 24
        );
    }
    tree.file("etc/crontab", &crontab);
    tree.script(
        "etc/cron.weekly/fstrim",
        "#!/bin/sh\n/sbin/fstrim --all || true\n",
    );
    let timer = "[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n";
    for index in 0..40 {
        tree.file(&format!("lib/systemd/system/t{index}.timer"), timer);
        tree.file(
            &format!("lib/systemd/system/t{index}.service"),
            &format!("[Service]\nType=oneshot\nExecStart=/usr/bin/task{index}\n"),
        );
        tree.link(
            &format!("etc/systemd/system/timers.target.wants/t{index}.timer"),
            &format!("/lib/systemd/system/t{index}.timer"),
        );
    }
}

fn processes(tree: &Tree) {
    for pid in 1..=PROCESSES {
        let name = if pid == 1000 { "mongod" } else { "worker" };
        tree.file(&format!("proc/{pid}/comm"), &format!("{name}\n"));
        tree.file(
            &format!("proc/{pid}/cmdline"),
            &format!("{name}\0--dbpath\0/srv/0/db\0"),
        );
    }
}
