//! Fuzz targets for every parser of foreign input. A target runs the parser and, where possible,
//! checks a property that holds for any input: filtering twice changes nothing more, and what is
//! written reads back the same.

mod bench;
mod cluster;
mod history;
mod host_logs;
mod outputs;
mod runs;
mod servers;
mod volumes;

use bounded_http::{Credentials, Endpoint};
use host::source::{Limits, read_bytes};
use host::{Command, DriveTool, filter, parse};
use schedule::{Calendar, CronSpec, parse_zone};
use trim::geometry::{KernelRelease, btrfs, ext4, xfs};

/// A parser under test.
pub struct Target {
    /// Name, which is also that of the cargo-fuzz target.
    pub name: &'static str,
    /// Runs it on one input; panics on failure.
    pub run: fn(&[u8]),
    /// Real inputs to start from.
    pub seeds: &'static [&'static str],
}

/// One log of each supported drive tool, with a serial number.
const DRIVE_LOGS: &[&str] = &[
    "{\"data_units_written\":2000000,\"sn\":\"S3RI4L\"}",
    "{\"Physical media units written\":{\"hi\":0,\"lo\":\"1500\"},\"sn\":\"S3RI4L\"}",
    "{\"physical_media_units_written\":1500,\"sn\":\"S3RI4L\"}",
    "{\"smartctl\":{\"exit_status\":0},\"serial_number\":\"S3RI4L\",\"nvme_smart_health_information_log\":{\"data_units_written\":7}}",
    "{\"logical_block_size\":512,\"serial_number\":\"S3RI4L\",\"ata_smart_attributes\":{\"table\":[{\"id\":247,\"name\":\"Host_Program_Page_Count\",\"raw\":{\"value\":200}},{\"id\":248,\"name\":\"FTL_Program_Page_Count\",\"raw\":{\"value\":100}}]},\"ata_device_statistics\":{\"pages\":[{\"number\":1,\"table\":[{\"offset\":24,\"value\":3906250}]}]}}",
];

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
        run: mountinfo,
        seeds: &[
            "28 1 259:0 / /mnt/x rw,relatime shared:1 - xfs /dev/nvme0n1 rw,attr2,inode64,noquota\n",
            "29 1 0:25 / /mnt/a\\040b rw master:2 propagate_from:3 - btrfs /dev/nvme0n1 rw,ssd,subvol=/\n",
        ],
    },
    Target {
        name: "fstab",
        run: fstab,
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
        run: crypttab,
        seeds: &[
            "c0 UUID=7d0cd2ef-0f5b-43be-b408-6a2fad87bf43 /root/key luks,discard\nswap /dev/sda2 /dev/urandom swap\n",
        ],
    },
    Target {
        name: "jvm-options",
        run: jvm_options,
        seeds: &[
            "# heap\n-Xms1g\n-Xmx1g\n8:-XX:+UseConcMarkSweepGC\n8-13:-javaagent:/x/trimtab-livefix.jar=y\r\n",
            "-javaagent:/usr/share/elasticsearch/lib/tools/apm.jar\n14-:-XX:+UseG1GC",
        ],
    },
    Target {
        name: "dm-table",
        run: dm_table,
        seeds: &[
            "c0: 0 2064384 crypt aes-xts-plain64 :64:logon:cryptsetup:7d0cd2ef-d0 0 259:0 32768 1 allow_discards\n",
            "c1: 0 100 crypt aes-xts-plain64 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff 0 8:1 4096\n",
            "vg-pool-tpool: 0 1638400 thin-pool 253:1 253:2 128 0 1 ignore_discard \nvg-thin: 0 1228800 thin 253:3 1\n",
            "i: 0 9 integrity 8:1 0 28 J 3 journal_crypt:ctr(aes):0011 internal_hash:hmac(sha256):aabb block_size:4096\n",
        ],
    },
    Target {
        name: "drive-log",
        run: drive_log,
        seeds: DRIVE_LOGS,
    },
    Target {
        name: "mdstat",
        run: mdstat,
        seeds: &[
            "Personalities : [raid6] [raid5] [raid4] \nmd5 : active raid5 nvme3n1[3](F) nvme0n1[0]\n      1569792 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]\n      [>....]  resync =  1.0% (1/2) finish=3min speed=1K/sec\nunused devices: <none>\n",
        ],
    },
    Target {
        name: "lvm-conf",
        run: lvm_conf,
        seeds: &[
            "# c\ndevices {\n\tissue_discards = 0\n\tfilter = [ \"a|.*|\", 'r' ]\n}\nactivation/mode=\"x\\\"y\"\n",
        ],
    },
    Target {
        name: "crontab",
        run: crontab,
        seeds: &[
            "SHELL=/bin/sh\nCRON_TZ=UTC\n47 6 * * 7 root test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly )\n",
            "@reboot root PGPASSWORD=x pg_dump -pquiet https://u:p@h/ | gzip > /x%y\\%z\n*/5 1-3,5 1 jan-mar mon x\n",
        ],
    },
    Target {
        name: "anacrontab",
        run: anacrontab,
        seeds: &[
            "RANDOM_DELAY=45\nSTART_HOURS_RANGE=3-22\n7\t10\tcron.weekly\tnice run-parts /etc/cron.weekly\n@monthly 15 m run-parts /x\n",
        ],
    },
    Target {
        name: "script",
        run: script,
        seeds: &[
            "#!/bin/sh\nFSTRIM=/sbin/fstrim\nfor m in /a /b; do ionice -c3 $FSTRIM -v \"$m\" || true; done\n",
            "if [ -x /usr/share/mdadm/checkarray ] && [ $(date +%d) -le 7 ]; then sh -c 'fstrim -a'; fi\ncat <<EOF\nx\nEOF\n",
            "x=$(cat <<'E F' <<$G\na )\nE F\n`\n$G\n)\nbash -eo pipefail -s -- --token y; case $x in a|b) : $((1<<2));; esac\n",
        ],
    },
    Target {
        name: "unit",
        run: unit,
        seeds: &[
            "[Unit]\nDescription=a \\\n b\n[Timer]\nOnCalendar=\nOnCalendar=Mon..Fri *-*-1~3 02:00:00/15 UTC\nRandomizedDelaySec=1h 40min\nPersistent=true\n",
            "[Service]\nExecStart=@/bin/sh a -c 'echo \"b ; c\" ; d' ; -/bin/e \\; f\n",
            "[Service]\nType=oneshot\nEnvironment=TOKEN=secret\nExecStart=-/usr/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo -v\n",
        ],
    },
    Target {
        name: "systemctl-show",
        run: systemctl_show,
        seeds: &[
            "Id=fstrim.timer\nUnitFileState=enabled\nActiveState=active\nTimersCalendar={ OnCalendar=Mon *-*-* 00:00:00 ; next_elapse=Mon 2026-11-23 00:00:00 UTC }\nRandomizedDelayUSec=1h 40min\n\nId=fstrim.service\nExecStart={ path=/sbin/fstrim ; argv[]=/sbin/fstrim --verbose ; ignore_errors=no ; pid=0 }\n",
        ],
    },
    Target {
        name: "yaml",
        run: yaml,
        seeds: &[
            "path:\n  data: [/a, \"/b\"]\ncluster.name: x\nxpack.security.http.ssl.keystore.secure_password: hunter2\n",
            "storage: {dbPath: /var/lib/mongodb, wiredTiger: {engineConfig: {cacheSizeGB: 1}}}\n- &a 1\n- *a\n",
        ],
    },
    Target {
        name: "bundle",
        run: bundle,
        seeds: &["", "manifest.json"],
    },
    Target {
        name: "kubernetes-volumes",
        run: volumes::lists,
        seeds: volumes::LISTS,
    },
    Target {
        name: "cron-spec",
        run: cron_spec,
        seeds: &[
            "47 6 * * 7",
            "@weekly",
            "*/5 1-3,5 1 jan-mar mon-fri",
            "0 0 29 2 *",
        ],
    },
    Target {
        name: "calendar",
        run: calendar,
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
        run: endpoint,
        seeds: &[
            "https://es1.example:9200/base/_search?q=x",
            "http://[::1]:9200",
            "HTTP://user:password@127.0.0.1/",
        ],
    },
    Target {
        name: "checkpoint",
        run: checkpoint,
        seeds: &[
            "{\"schema\":\"trimtab.trim-checkpoint/1\",\"identity\":{\"device\":{\"major\":259,\"minor\":1},\"uuid\":\"0a-1\",\"fs_type\":\"xfs\"},\"mount_point\":\"/data\",\"started_at\":\"2026-11-21T01:00:00Z\",\"updated_at\":\"2026-11-21T01:02:03.5Z\",\"cursor\":{\"next_bytes\":4096,\"unallocated_done\":false},\"steps\":7,\"free_bytes\":1,\"visited_bytes\":1,\"discarded_bytes\":{\"nvme0n1\":1},\"active_s\":1.5,\"phase\":{\"type\":\"stopped\",\"reason\":\"x\"},\"remark\":null,\"left_s\":2}",
        ],
    },
    Target {
        name: "credentials",
        run: credentials,
        seeds: &[
            "# cluster\nuser = elastic\npassword=a = b\n",
            "api_key = VuaCfGcBCdbkQm-e5aOx:ui2lp2axTNmsyakw9tvNnw\n",
            "bearer_token = mF_9.B5f-4.1JqM\n",
        ],
    },
    Target {
        name: "diskstats",
        run: diskstats,
        seeds: &[
            " 259       0 nvme2n1 101 190 2780 360 406 27179 220598 2999 0 2700 3364 7 1 4096 9 11 4\n   8       1 sda1 1 0 8 4 0 0 0 0 0 4 4\n",
            " 104 0 cciss/c0d0 1 0 0 0 0 0 0 0 4294967295 0 0 1 2 3 4\n",
            "some avg10=0.00 avg60=1.20 avg300=0.10 total=183277\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n",
        ],
    },
    Target {
        name: "ext4-superblock",
        run: ext4_superblock,
        // Blocks, first data block, block size and blocks per group: 4 KiB blocks, then 1 KiB.
        seeds: &[
            "\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0\0\x40\0\0",
            "\0\0\0\0\0\x50\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\x20\0\0",
        ],
    },
    Target {
        name: "xfs-agf",
        run: xfs_agf,
        seeds: &[
            "XAGF\0\0\0\x01\0\0\0\x03\0\0\x40\0\0\0\0\x01\0\0\0\x02\0\0\0\x05\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x03\0\0\0\x04\0\0\x20\0\0\0\x10\0\0\0\0\0",
        ],
    },
    Target {
        name: "btrfs-items",
        run: btrfs_items,
        // The number of items, then headers of 32 bytes, each followed by its data: a chunk of 48
        // bytes; then a chunk, a block group and the number of its free extents.
        seeds: &[
            "\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\x64\0\0\0\x30\0\0\0\0\0\x40\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0\x01\0\0\x10\0\0\0\x10\0\0\x02\0\x01\0",
            "\x03\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\x64\0\0\0\x30\0\0\0\0\0\x40\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0\x01\0\0\x10\0\0\0\x10\0\0\x02\0\x01\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x40\0\0\0\0\0\x43\0\0\0\x18\0\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x40\0\0\0\0\0\x46\0\0\0\x08\0\0\0\x07\0\0\0\0\0\0\0",
        ],
    },
    Target {
        name: "kernel-release",
        run: kernel_release,
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

fn mountinfo(bytes: &[u8]) {
    let _ = parse::mountinfo::parse(&text(bytes));
    keep("proc/self/mountinfo", bytes);
}

fn fstab(bytes: &[u8]) {
    let _ = parse::fstab::parse(&text(bytes));
    keep("etc/fstab", bytes);
}

/// There are no more options than commas and mounts, and fewer mounts than lines.
fn crypttab(bytes: &[u8]) {
    let _ = parse::fstab::parse_crypttab(&text(bytes));
    keep("etc/crypttab", bytes);
}

/// What is installed is found, and removing it leaves the lines that were there.
fn jvm_options(bytes: &[u8]) {
    const JAR: &str = "/etc/elasticsearch/trimtab-livefix.jar";
    let without = match livefix::without_agent(bytes) {
        Ok(without) => without.unwrap_or_else(|| bytes.to_vec()),
        Err(error) => {
            assert!(std::str::from_utf8(bytes).is_err(), "{error}");
            return;
        }
    };
    assert_eq!(livefix::without_agent(&without), Ok(None));
    let with = livefix::with_agent(&without, JAR).expect("removed before");
    assert_eq!(livefix::agent_jar(&text(&with)), Some(JAR));
    assert!(livefix::with_agent(&with, JAR).is_err());
    let again = livefix::without_agent(&with)
        .expect("text")
        .expect("added before");
    // A last line without its end gets one.
    let end = again.strip_prefix(without.as_slice());
    assert!(end.is_some_and(|end| end.is_empty() || end == b"\n"));
}

fn dm_table(bytes: &[u8]) {
    let _ = parse::dm_table::parse(&text(bytes));
    keep_answer(&Command::DmTable, bytes);
}

/// The filtered log yields the same counts as the original, and contains only numbers.
fn drive_log(bytes: &[u8]) {
    for tool in DriveTool::ALL {
        let drive = "nvme0n1".to_owned();
        keep_answer(&Command::DriveLog { tool, drive }, bytes);
        let counts = parse::drive_log::parse(tool, bytes);
        match parse::drive_log::reduce(tool, bytes) {
            Ok(kept) => {
                assert_eq!(parse::drive_log::parse(tool, &kept), counts);
                assert!(kept.len() < 1000 && !text(&kept).contains("S3RI4L"));
            }
            Err(why) => assert_eq!(counts, Err(why)),
        }
    }
}

fn mdstat(bytes: &[u8]) {
    let _ = parse::mdstat::parse(&text(bytes));
}

fn lvm_conf(bytes: &[u8]) {
    let _ = parse::lvm_conf::issue_discards("etc/lvm/lvm.conf", &text(bytes));
    keep("etc/lvm/lvm.conf", bytes);
}

fn crontab(bytes: &[u8]) {
    for kind in [parse::crontab::Kind::System, parse::crontab::Kind::User] {
        let _ = parse::crontab::parse("etc/crontab", &text(bytes), kind);
    }
    let _ = parse::crontab_jobs::from_crontab("crontab", &text(bytes));
    keep("etc/crontab", bytes);
}

fn anacrontab(bytes: &[u8]) {
    let _ = parse::anacrontab::parse("etc/anacrontab", &text(bytes));
    let _ = parse::anacrontab::parse_stamp(&text(bytes));
    keep("etc/anacrontab", bytes);
}

fn script(bytes: &[u8]) {
    let probe = |option: char, _: &str| (option == 'x').then_some(true);
    let origin = parse::shell::script::Origin::File("etc/cron.weekly/fstrim");
    let _ = parse::shell::script::scan(origin, &text(bytes), &probe);
    let _ = parse::shell::script::scan_exec(origin, &text(bytes), &probe);
    keep("etc/cron.weekly/fstrim", bytes);
}

fn unit(bytes: &[u8]) {
    let _ = parse::unit_file::parse("etc/systemd/system/fstrim.timer", &text(bytes));
    let _ = parse::systemd_time::parse_span_s(&text(bytes));
    keep("etc/systemd/system/fstrim.timer", bytes);
    keep("etc/systemd/system/fstrim.service", bytes);
}

fn systemctl_show(bytes: &[u8]) {
    let _ = parse::systemctl::parse(&text(bytes));
    let _ = parse::systemd_time::parse_timestamp(&text(bytes));
    keep_answer(&Command::SystemctlShow { units: Vec::new() }, bytes);
}

fn yaml(bytes: &[u8]) {
    let _ = parse::yaml::flatten("elasticsearch.yml", &text(bytes));
    keep("etc/elasticsearch/elasticsearch.yml", bytes);
    keep("etc/mongod.conf", bytes);
}

fn bundle(bytes: &[u8]) {
    let limits = Limits {
        total_bytes_max: 1 << 20,
        ..Limits::default()
    };
    let _ = read_bytes(bytes, &limits);
}

/// Whatever parses is displayed so that it parses to the same value.
fn cron_spec(bytes: &[u8]) {
    if let Ok(spec) = CronSpec::parse("crontab", &text(bytes)) {
        let again = CronSpec::parse("crontab", &spec.to_string()).expect("its own text parses");
        assert_eq!(again, spec);
    }
}

fn calendar(bytes: &[u8]) {
    let _ = parse_zone(&text(bytes));
    if let Ok(spec) = Calendar::parse("OnCalendar", &text(bytes)) {
        let again = Calendar::parse("OnCalendar", &spec.to_string()).expect("its own text parses");
        assert_eq!(again.to_string(), spec.to_string());
    }
}

/// Whatever parses is displayed so that it parses again, without a password. Errors do not quote
/// text that may contain a password.
fn endpoint(bytes: &[u8]) {
    let text = text(bytes);
    match Endpoint::parse(&text) {
        Ok(endpoint) => {
            let shown = endpoint.to_string();
            let plain = shown.strip_suffix("?...").unwrap_or(&shown);
            let again = Endpoint::parse(plain).expect("its own text parses");
            assert_eq!(again.to_string(), plain);
            assert_eq!(again.port(), endpoint.port());
        }
        Err(error) => assert!(!text.contains('@') || error.found.starts_with("text with an @")),
    }
}

/// The length of an error does not depend on that of the file.
fn credentials(bytes: &[u8]) {
    match Credentials::parse("credentials", &text(bytes)) {
        Ok(credentials) => assert!(!credentials.is_none()),
        Err(error) => assert!(error.to_string().len() < 200),
    }
}

/// What was parsed reads back the same after writing, except for the last digits of floating-point
/// numbers.
fn checkpoint(bytes: &[u8]) {
    if let Ok(checkpoint) = trim::state::Checkpoint::parse(bytes) {
        let written = serde_json::to_vec(&checkpoint).expect("a checkpoint is JSON");
        let mut again = trim::state::Checkpoint::parse(&written).expect("its own text is read");
        again.active_s = checkpoint.active_s;
        again.left_s = checkpoint.left_s;
        assert_eq!(again, checkpoint);
    }
}

/// Only requested devices are returned; the length of an error does not depend on that of the file.
fn diskstats(bytes: &[u8]) {
    let devices = ["nvme2n1", "sda1", "cciss!c0d0"].map(str::to_owned);
    match linux::counters::parse_diskstats(&text(bytes), &devices) {
        Ok(found) => assert!(found.keys().all(|name| devices.contains(name))),
        Err(error) => assert!(error.to_string().len() < 400),
    }
    let _ = linux::counters::parse_pressure(&text(bytes));
}

/// The groups of any valid superblock tile the filesystem, and no descriptor can make a group's
/// free space exceed its size.
fn ext4_superblock(bytes: &[u8]) {
    let _ = ext4::format::Superblock::parse(bytes);
    // Real superblocks are longer than the input, which is copied over zeros with the magic number
    // in place.
    let mut whole = vec![0; ext4::format::SUPERBLOCK_BYTES];
    let len = bytes.len().min(whole.len());
    whole[..len].copy_from_slice(&bytes[..len]);
    whole[56..58].copy_from_slice(&[0x53, 0xef]);
    let Ok(superblock) = ext4::format::Superblock::parse(&whole) else {
        return;
    };
    let last = superblock.groups - 1;
    for group in [0, superblock.groups / 2, last] {
        let start = superblock.group_start_bytes(group);
        let end = superblock.group_start_bytes(group + 1);
        assert!(start < end && end <= superblock.size_bytes());
        assert_eq!(superblock.group_at(start), group);
        assert_eq!(superblock.group_at(end - 1), group);
        let _ = superblock.descriptor_block_bytes(group);
        if let Ok(free) = superblock.free_bytes(group, &bytes.repeat(16)) {
            assert!(free <= superblock.blocks_per_group * superblock.block_bytes);
        }
    }
    assert_eq!(
        superblock.group_at(superblock.size_bytes()),
        superblock.groups
    );
}

fn xfs_agf(bytes: &[u8]) {
    if let Some(agf) = xfs::agf::Agf::parse(bytes) {
        assert!(agf.longest_blocks <= agf.free_blocks && agf.free_blocks <= agf.blocks);
    }
}

fn btrfs_items(bytes: &[u8]) {
    let Some((&count, rest)) = bytes.split_first() else {
        return;
    };
    let Some(items) = btrfs::items::split(count.into(), rest) else {
        return;
    };
    assert_eq!(items.len(), usize::from(count));
    for item in items {
        if let Some(chunk) = btrfs::items::Chunk::parse(&item) {
            assert!(chunk.end_bytes() > chunk.start_bytes && chunk.copies() > 0);
        }
        let _ = btrfs::items::used_bytes(item.data);
        let _ = btrfs::items::free_extents(item.data);
    }
}

/// Whatever parses is displayed so that it parses to the same value.
fn kernel_release(bytes: &[u8]) {
    if let Some(release) = KernelRelease::parse(&text(bytes)) {
        assert_eq!(KernelRelease::parse(&release.to_string()), Some(release));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed that is rejected immediately would leave everything after the first check untested.
    #[test]
    fn seeds_reach_the_end_of_their_parsers() {
        for (name, reaches) in [
            (
                "checkpoint",
                (|seed| trim::state::Checkpoint::parse(seed).is_ok()) as fn(&[u8]) -> bool,
            ),
            ("endpoint", |seed| {
                // One seed is meant to be rejected.
                Endpoint::parse(&text(seed)).is_ok() != seed.contains(&b'@')
            }),
            ("credentials", |seed| {
                Credentials::parse("f", &text(seed)).is_ok()
            }),
            ("diskstats", |seed| {
                let devices = ["nvme2n1", "sda1", "cciss!c0d0"].map(str::to_owned);
                let found = linux::counters::parse_diskstats(&text(seed), &devices);
                found.is_ok_and(|found| !found.is_empty())
                    || linux::counters::parse_pressure(&text(seed)).is_ok()
            }),
            ("ext4-superblock", |seed| {
                let mut whole = vec![0; ext4::format::SUPERBLOCK_BYTES];
                whole[..seed.len()].copy_from_slice(seed);
                whole[56..58].copy_from_slice(&[0x53, 0xef]);
                ext4::format::Superblock::parse(&whole).is_ok()
            }),
            ("xfs-agf", |seed| xfs::agf::Agf::parse(seed).is_some()),
            ("btrfs-items", |seed| {
                btrfs::items::split(seed[0].into(), &seed[1..]).is_some_and(|items| {
                    let chunk = items.first().and_then(btrfs::items::Chunk::parse);
                    chunk.is_some()
                })
            }),
            ("kernel-release", |seed| {
                KernelRelease::parse(&text(seed)).is_some()
            }),
            ("drive-log", |seed| {
                DriveTool::ALL.iter().any(|&tool| {
                    let counts = parse::drive_log::parse(tool, seed);
                    counts.is_ok_and(|counts| counts.host_bytes.is_ok() || counts.media.is_ok())
                })
            }),
            ("events", runs::reaches_events),
            ("bench-results", bench::reaches_results),
            ("bench-track", bench::reaches_track),
            ("trial-document", bench::reaches_document),
            ("trial-series", bench::reaches_series),
            ("syslog", runs::reaches_log),
            ("journal", runs::reaches_log),
            ("host-logs", host_logs::reaches),
            ("csv", history::reaches),
            ("json-lines", history::reaches),
            ("rally", history::reaches),
            ("iostat", history::reaches),
            ("diskstats-log", history::reaches),
            ("sadf", history::reaches),
            ("saved-prometheus", history::reaches),
            ("saved-search", history::reaches),
            ("time", history::reaches_time),
            ("cluster-state", cluster::reaches),
            ("cluster-answers", cluster::reaches),
            ("hot-threads", cluster::reaches_threads),
        ] {
            let target = TARGETS.iter().find(|target| target.name == name);
            let seeds = target.expect(name).seeds;
            assert!(!seeds.is_empty());
            for seed in seeds {
                assert!(reaches(seed.as_bytes()), "{name}: {seed:?}");
            }
        }
    }
}
