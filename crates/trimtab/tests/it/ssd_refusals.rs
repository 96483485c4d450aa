//! What `trimtab ssd` refuses, and the error messages.

use crate::ssd::ssd;
use crate::support::{stderr, stdout};

/// Values: arguments, and a part of the expected error.
const VALUES: &[(&[&str], &str)] = &[
    (&["run", "--simulated-pages", "0"], "number of pages"),
    (&["run", "--op", "7"], "7%"),
    (&["run", "--op", "0"], "above 0"),
    (&["run", "--policy", "lru"], "greedy, fifo"),
    (&["run", "--policy", "d-choices:0"], "d-choices:D"),
    (&["run", "--pages-per-block", "0"], "pages-per-block"),
    (&["run", "--pages-per-block", "70000"], "pages-per-block"),
    (&["run", "--page-bytes", "16B"], "512 bytes"),
    (
        &["run", "--op", "-5%"],
        "expected a share such as 7% or 0.07, found \"-5%\"",
    ),
    (
        &["run", "--seed", "abc"],
        "expected a count such as 25000, 25,000, 25k or 1M, found \"abc\"",
    ),
    (
        &["run", "--pages-per-block", "1M"],
        "expected 1 to 65535 pages such as 256 or 16Ki, found \"1M\"",
    ),
    (&["run", "--root", "/"], "--from-host"),
    (&["run", "--bundle", "x"], "--from-host"),
    (
        &["run", "--logical-pages", "1M"],
        "unexpected argument '--logical-pages'",
    ),
];

/// Scenarios.
const DAYS: &[(&[&str], &str)] = &[
    (&["run"], "--capacity"),
    (&["run", "--capacity", "1TB"], "--writes-per-day"),
    (&["run", "--capacity", "big"], "expected a size"),
    (
        &["run", "--capacity", "1XB"],
        "KB, MB, GB, TB and PB powers of 1000",
    ),
    (&["run", "--capacity", "16EiB"], "powers of 1024"),
    (&["run", "--interval", "6"], "found \"6\": 6 has no unit"),
    (
        &["run", "--interval", "90min"],
        "expected whole hours of 1h to 168h, found \"90min\"",
    ),
    (
        &["run", "--capacity", "1TB", "--writes-per-day", "1.9"],
        "found \"1.9\": 1.9 has no unit: write 1.9GiB or 1.9GB",
    ),
    (
        &["run", "--workload", "lucene@80,log@30"],
        "come to 100 %, found \"110 %\"",
    ),
    (
        &[
            "run",
            "--capacity",
            "1TB",
            "--writes-per-day",
            "1GB",
            "--drives",
            "2",
            "--chunk",
            "3KiB",
        ],
        "a page or more, each of 16384 bytes, found 3072 bytes",
    ),
    (
        &[
            "run",
            "--capacity",
            "100TB",
            "--writes-per-day",
            "1TB",
            "--simulated-pages",
            "4000000000",
        ],
        "expected fewer than 65536 of 42949 pages",
    ),
    (
        &[
            "run",
            "--capacity",
            "70TB",
            "--drives",
            "1000",
            "--writes-per-day",
            "1TB",
            "--simulated-pages",
            "4000000000",
            "--op",
            "1%",
        ],
        "memory",
    ),
    (
        &[
            "run",
            "--capacity",
            "1TB",
            "--writes-per-day",
            "1GB",
            "--trim",
            "monthly",
        ],
        "weekly",
    ),
    (
        &[
            "run",
            "--capacity",
            "1TB",
            "--writes-per-day",
            "1GB",
            "--fill",
            "100%",
        ],
        "below 100%",
    ),
    (
        &["run", "--capacity", "10MB", "--writes-per-day", "1GB"],
        "at least 4096",
    ),
    (
        &[
            "run",
            "--capacity",
            "1TB",
            "--writes-per-day",
            "1GB",
            "--chunk",
            "1KiB",
            "--drives",
            "2",
        ],
        "chunk",
    ),
    (
        &[
            "run",
            "--capacity",
            "1TB",
            "--writes-per-day",
            "1GB",
            "--preset",
            "plc",
        ],
        "qlc",
    ),
    (
        &[
            "run",
            "--capacity",
            "1TB",
            "--writes-per-day",
            "1GB",
            "--drive",
            "/nonexistent.toml",
        ],
        "No such file",
    ),
    (
        &["run", "--from-host", "/", "--root", "/nonexistent"],
        "nonexistent",
    ),
];

/// Other commands.
const OTHERS: &[(&[&str], &str)] = &[
    (
        &[
            "sweep",
            "--capacity",
            "1TB",
            "--host-written",
            "1TB",
            "--media-written",
            "2TB",
        ],
        "--media-written",
    ),
    (&["run", "--drive", "/dev/zero"], "at most 1 MiB"),
    (&["example", "six-pages"], "five-pages"),
];

#[test]
fn invalid_arguments_are_refused_with_a_hint() {
    for (args, expected) in [VALUES, DAYS, OTHERS].concat() {
        let output = ssd(args);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?}: {}",
            stdout(&output)
        );
        let message = stderr(&output);
        assert!(message.contains(expected), "{args:?}: {message}");
        assert!(stdout(&output).is_empty(), "{args:?}");
    }
}
