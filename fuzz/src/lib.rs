//! Fuzz targets for every parser of foreign input. A target runs the parser and, where possible,
//! checks a property that holds for any input: filtering twice changes nothing more, and what is
//! written reads back the same.

mod bench;
mod cluster;
mod history;
mod host;
mod host_logs;
mod outputs;
mod runs;
mod schedules;
mod servers;
mod trims;
mod volumes;

use ::host::{Command, filter};

/// A parser under test.
pub struct Target {
    /// Name, which is also that of the cargo-fuzz target.
    pub name: &'static str,
    /// Runs it on one input; panics on failure.
    pub run: fn(&[u8]),
    /// Real inputs to start from.
    pub seeds: &'static [&'static str],
}

/// All fuzz targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "bench-results",
        run: bench::results,
        seeds: bench::RESULTS,
    },
    Target {
        name: "bench-track",
        run: bench::track,
        seeds: bench::TRACKS,
    },
    Target {
        name: "trial-records",
        run: bench::records,
        seeds: bench::RECORDS,
    },
    Target {
        name: "trial-document",
        run: bench::document,
        seeds: bench::DOCUMENTS,
    },
    Target {
        name: "trial-series",
        run: bench::series,
        seeds: bench::SERIES,
    },
    Target {
        name: "cpu",
        run: bench::cpu,
        seeds: &[
            "cpu  100 0 50 800 40 1 2 10 0 0\ncpu0 1 0 0 0 0 0 0 0 0 0\n",
            "77 (a ) b) S 1 77 77 0 -1 0 0 0 0 0 60 20 0 0 20 0 9 0 500 0 0\n",
            "nr_periods 9\nnr_throttled 1\nthrottled_usec 99\n",
        ],
    },
    Target {
        name: "mountinfo",
        run: host::mountinfo,
        seeds: &[
            "28 1 259:0 / /mnt/x rw,relatime shared:1 - xfs /dev/nvme0n1 rw,attr2,inode64,noquota\n",
            "29 1 0:25 / /mnt/a\\040b rw master:2 propagate_from:3 - btrfs /dev/nvme0n1 rw,ssd,subvol=/\n",
        ],
    },
    Target {
        name: "fstab",
        run: host::fstab,
        seeds: &[
            "/dev/vda / ext4 defaults 0 1\n# comment\nUUID=0a /mnt/x\\040y xfs noatime,X-fstrim.notrim 0 0\n",
            "//server/share /mnt/c cifs username=a,password=b,credentials=/root/c 0 0\n",
        ],
    },
    Target {
        name: "findmnt",
        run: outputs::mounts,
        seeds: &[
            "/dev/vda2 on / type ext4 (rw,relatime) [root]\n",
            "/dev/vda2 / ext4 rw,relatime 0 0\n",
            "TARGET      SOURCE     FSTYPE OPTIONS\n/           /dev/xvda1 ext4   rw,discard\n└─/mnt/a\\x20b /dev/md0   xfs    rw,discard,nobarrier\n",
        ],
    },
    Target {
        name: "outputs",
        run: outputs::any,
        seeds: outputs::SEEDS,
    },
    Target {
        name: "crypttab",
        run: host::crypttab,
        seeds: &[
            "c0 UUID=7d0cd2ef-0f5b-43be-b408-6a2fad87bf43 /root/key luks,discard\nswap /dev/sda2 /dev/urandom swap\n",
        ],
    },
    Target {
        name: "jvm-options",
        run: host::jvm_options,
        seeds: &[
            "# heap\n-Xms1g\n-Xmx1g\n8:-XX:+UseConcMarkSweepGC\n8-13:-javaagent:/x/trimtab-livefix.jar=y\r\n",
            "-javaagent:/usr/share/elasticsearch/lib/tools/apm.jar\n14-:-XX:+UseG1GC",
        ],
    },
    Target {
        name: "dm-table",
        run: host::dm_table,
        seeds: &[
            "c0: 0 2064384 crypt aes-xts-plain64 :64:logon:cryptsetup:7d0cd2ef-d0 0 259:0 32768 1 allow_discards\n",
            "c1: 0 100 crypt aes-xts-plain64 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff 0 8:1 4096\n",
            "vg-pool-tpool: 0 1638400 thin-pool 253:1 253:2 128 0 1 ignore_discard \nvg-thin: 0 1228800 thin 253:3 1\n",
            "i: 0 9 integrity 8:1 0 28 J 3 journal_crypt:ctr(aes):0011 internal_hash:hmac(sha256):aabb block_size:4096\n",
        ],
    },
    Target {
        name: "drive-log",
        run: host::drive_log,
        seeds: host::DRIVE_LOGS,
    },
    Target {
        name: "mdstat",
        run: host::mdstat,
        seeds: &[
            "Personalities : [raid6] [raid5] [raid4] \nmd5 : active raid5 nvme3n1[3](F) nvme0n1[0]\n      1569792 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]\n      [>....]  resync =  1.0% (1/2) finish=3min speed=1K/sec\nunused devices: <none>\n",
        ],
    },
    Target {
        name: "lvm-conf",
        run: host::lvm_conf,
        seeds: &[
            "# c\ndevices {\n\tissue_discards = 0\n\tfilter = [ \"a|.*|\", 'r' ]\n}\nactivation/mode=\"x\\\"y\"\n",
        ],
    },
    Target {
        name: "crontab",
        run: schedules::crontab,
        seeds: &[
            "SHELL=/bin/sh\nCRON_TZ=UTC\n47 6 * * 7 root test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly )\n",
            "@reboot root PGPASSWORD=x pg_dump -pquiet https://u:p@h/ | gzip > /x%y\\%z\n*/5 1-3,5 1 jan-mar mon x\n",
        ],
    },
    Target {
        name: "anacrontab",
        run: schedules::anacrontab,
        seeds: &[
            "RANDOM_DELAY=45\nSTART_HOURS_RANGE=3-22\n7\t10\tcron.weekly\tnice run-parts /etc/cron.weekly\n@monthly 15 m run-parts /x\n",
        ],
    },
    Target {
        name: "script",
        run: schedules::script,
        seeds: &[
            "#!/bin/sh\nFSTRIM=/sbin/fstrim\nfor m in /a /b; do ionice -c3 $FSTRIM -v \"$m\" || true; done\n",
            "if [ -x /usr/share/mdadm/checkarray ] && [ $(date +%d) -le 7 ]; then sh -c 'fstrim -a'; fi\ncat <<EOF\nx\nEOF\n",
            "x=$(cat <<'E F' <<$G\na )\nE F\n`\n$G\n)\nbash -eo pipefail -s -- --token y; case $x in a|b) : $((1<<2));; esac\n",
        ],
    },
    Target {
        name: "unit",
        run: schedules::unit,
        seeds: &[
            "[Unit]\nDescription=a \\\n b\n[Timer]\nOnCalendar=\nOnCalendar=Mon..Fri *-*-1~3 02:00:00/15 UTC\nRandomizedDelaySec=1h 40min\nPersistent=true\n",
            "[Service]\nExecStart=@/bin/sh a -c 'echo \"b ; c\" ; d' ; -/bin/e \\; f\n",
            "[Service]\nType=oneshot\nEnvironment=TOKEN=secret\nExecStart=-/usr/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo -v\n",
        ],
    },
    Target {
        name: "systemctl-show",
        run: schedules::systemctl_show,
        seeds: &[
            "Id=fstrim.timer\nUnitFileState=enabled\nActiveState=active\nTimersCalendar={ OnCalendar=Mon *-*-* 00:00:00 ; next_elapse=Mon 2026-11-23 00:00:00 UTC }\nRandomizedDelayUSec=1h 40min\n\nId=fstrim.service\nExecStart={ path=/sbin/fstrim ; argv[]=/sbin/fstrim --verbose ; ignore_errors=no ; pid=0 }\n",
        ],
    },
    Target {
        name: "yaml",
        run: host::yaml,
        seeds: &[
            "path:\n  data: [/a, \"/b\"]\ncluster.name: x\nxpack.security.http.ssl.keystore.secure_password: hunter2\n",
            "storage: {dbPath: /var/lib/mongodb, wiredTiger: {engineConfig: {cacheSizeGB: 1}}}\n- &a 1\n- *a\n",
        ],
    },
    Target {
        name: "bundle",
        run: host::bundle,
        seeds: &["", "manifest.json"],
    },
    Target {
        name: "kubernetes-volumes",
        run: volumes::lists,
        seeds: volumes::LISTS,
    },
    Target {
        name: "cron-spec",
        run: schedules::cron_spec,
        seeds: &[
            "47 6 * * 7",
            "@weekly",
            "*/5 1-3,5 1 jan-mar mon-fri",
            "0 0 29 2 *",
        ],
    },
    Target {
        name: "calendar",
        run: schedules::calendar,
        seeds: &[
            "weekly",
            "Mon..Fri *-*-* 02:00:00",
            "*-02~1..3 1..4/2:00,30:05.5 Europe/Berlin",
            "2026-11-21 12:00",
        ],
    },
    Target {
        name: "events",
        run: runs::events,
        seeds: runs::EVENTS,
    },
    Target {
        name: "syslog",
        run: runs::log,
        seeds: runs::SYSLOGS,
    },
    Target {
        name: "journal",
        run: runs::log,
        seeds: runs::JOURNALS,
    },
    Target {
        name: "host-logs",
        run: host_logs::run,
        seeds: host_logs::SEEDS,
    },
    Target {
        name: "endpoint",
        run: servers::endpoint,
        seeds: &[
            "https://es1.example:9200/base/_search?q=x",
            "http://[::1]:9200",
            "HTTP://user:password@127.0.0.1/",
        ],
    },
    Target {
        name: "checkpoint",
        run: trims::checkpoint,
        seeds: &[
            "{\"schema\":\"trimtab.trim-checkpoint/1\",\"identity\":{\"device\":{\"major\":259,\"minor\":1},\"uuid\":\"0a-1\",\"fs_type\":\"xfs\"},\"mount_point\":\"/data\",\"started_at\":\"2026-11-21T01:00:00Z\",\"updated_at\":\"2026-11-21T01:02:03.5Z\",\"cursor\":{\"next_bytes\":4096,\"unallocated_done\":false},\"steps\":7,\"free_bytes\":1,\"visited_bytes\":1,\"discarded_bytes\":{\"nvme0n1\":1},\"active_s\":1.5,\"phase\":{\"type\":\"stopped\",\"reason\":\"x\"},\"remark\":null,\"left_s\":2}",
        ],
    },
    Target {
        name: "credentials",
        run: servers::credentials,
        seeds: &[
            "# cluster\nuser = elastic\npassword=a = b\n",
            "api_key = VuaCfGcBCdbkQm-e5aOx:ui2lp2axTNmsyakw9tvNnw\n",
            "bearer_token = mF_9.B5f-4.1JqM\n",
        ],
    },
    Target {
        name: "diskstats",
        run: host::diskstats,
        seeds: &[
            " 259       0 nvme2n1 101 190 2780 360 406 27179 220598 2999 0 2700 3364 7 1 4096 9 11 4\n   8       1 sda1 1 0 8 4 0 0 0 0 0 4 4\n",
            " 104 0 cciss/c0d0 1 0 0 0 0 0 0 0 4294967295 0 0 1 2 3 4\n",
            "some avg10=0.00 avg60=1.20 avg300=0.10 total=183277\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n",
        ],
    },
    Target {
        name: "ext4-superblock",
        run: trims::ext4_superblock,
        // Blocks, first data block, block size and blocks per group: 4 KiB blocks, then 1 KiB.
        seeds: &[
            "\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0\0\x40\0\0",
            "\0\0\0\0\0\x50\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\x20\0\0",
        ],
    },
    Target {
        name: "xfs-agf",
        run: trims::xfs_agf,
        seeds: &[
            "XAGF\0\0\0\x01\0\0\0\x03\0\0\x40\0\0\0\0\x01\0\0\0\x02\0\0\0\x05\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x03\0\0\0\x04\0\0\x20\0\0\0\x10\0\0\0\0\0",
        ],
    },
    Target {
        name: "btrfs-items",
        run: trims::btrfs_items,
        // The number of items, then headers of 32 bytes, each followed by its data: a chunk of 48
        // bytes; then a chunk, a block group and the number of its free extents.
        seeds: &[
            "\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\x64\0\0\0\x30\0\0\0\0\0\x40\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0\x01\0\0\x10\0\0\0\x10\0\0\x02\0\x01\0",
            "\x03\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\x64\0\0\0\x30\0\0\0\0\0\x40\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0\x01\0\0\x10\0\0\0\x10\0\0\x02\0\x01\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x40\0\0\0\0\0\x43\0\0\0\x18\0\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x40\0\0\0\0\0\x46\0\0\0\x08\0\0\0\x07\0\0\0\0\0\0\0",
        ],
    },
    Target {
        name: "kernel-release",
        run: trims::kernel_release,
        seeds: &["6.18.44-fc-v657\n", "3.10.0-1160.el7.x86_64"],
    },
    Target {
        name: "cluster-state",
        run: cluster::state,
        seeds: cluster::STATES,
    },
    Target {
        name: "cluster-answers",
        run: cluster::answers,
        seeds: cluster::ANSWERS,
    },
    Target {
        name: "hot-threads",
        run: cluster::threads,
        seeds: cluster::THREADS,
    },
    Target {
        name: "csv",
        run: history::csv,
        seeds: history::CSV_SEEDS,
    },
    Target {
        name: "json-lines",
        run: history::json_lines,
        seeds: history::JSON_LINES_SEEDS,
    },
    Target {
        name: "rally",
        run: history::rally,
        seeds: history::RALLY_SEEDS,
    },
    Target {
        name: "diagnostics",
        run: cluster::diagnostics,
        seeds: cluster::DIAGNOSTICS,
    },
    Target {
        name: "saved-prometheus",
        run: history::prometheus,
        seeds: history::PROMETHEUS_SEEDS,
    },
    Target {
        name: "saved-search",
        run: history::search,
        seeds: history::SEARCH_SEEDS,
    },
    Target {
        name: "iostat",
        run: history::iostat,
        seeds: history::IOSTAT_SEEDS,
    },
    Target {
        name: "diskstats-log",
        run: history::diskstats,
        seeds: history::DISKSTATS_SEEDS,
    },
    Target {
        name: "sadf",
        run: history::sadf,
        seeds: history::SADF_SEEDS,
    },
    Target {
        name: "time",
        run: history::time,
        seeds: history::TIME_SEEDS,
    },
    Target {
        name: "ftdc",
        run: servers::ftdc,
        seeds: servers::CHUNKS,
    },
    Target {
        name: "prometheus-answer",
        run: servers::prometheus,
        seeds: servers::RANGES,
    },
    Target {
        name: "elastic-answer",
        run: servers::elastic,
        seeds: servers::SEARCHES,
    },
];

/// Runs a target by name, for the coverage-guided driver.
///
/// # Panics
/// If the target panics, or there is no such target.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS
        .iter()
        .find(|target| target.name == name)
        .expect("a target of that name");
    (target.run)(input);
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The filter for a file must not panic, and filtering again must change nothing.
fn keep(path: &str, bytes: &[u8]) {
    if let Ok(kept) = filter::keep_file(path, bytes) {
        let again = filter::keep_file(path, &kept).expect("what was kept can be kept again");
        assert_eq!(text(&again), text(&kept), "{path}");
    }
}

fn keep_answer(command: &Command, bytes: &[u8]) {
    if let Ok(kept) = filter::keep_command(command, bytes) {
        let again = filter::keep_command(command, &kept).expect("what was kept can be kept again");
        assert_eq!(text(&again), text(&kept));
    }
}

#[cfg(test)]
mod tests;
