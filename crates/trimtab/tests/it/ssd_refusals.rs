//! What `trimtab ssd` refuses, and the error messages.

use crate::ssd::ssd;
use crate::support::{stderr, stdout};

/// Bare drives: arguments, and a part of the expected error.
const BARE: &[(&[&str], &str)] = &[
    (&["run", "--logical-pages", "0"], "number of pages"),
    (
        &["run", "--logical-pages", "5000000000"],
        "1 to 4,294,967,294",
    ),
    (&["run", "--logical-pages", "4000000000"], "memory"),
    (&["run", "--logical-pages", "1000", "--op", "7"], "7%"),
    (&["run", "--logical-pages", "1000", "--op", "0"], "above 0"),
    (
        &["run", "--logical-pages", "1000", "--policy", "lru"],
        "greedy, fifo",
    ),
    (
        &["run", "--logical-pages", "1000", "--policy", "d-choices:0"],
        "d-choices:D",
    ),
    (
        &["run", "--logical-pages", "1000", "--pages-per-block", "0"],
        "pages-per-block",
    ),
    (
        &[
            "run",
            "--logical-pages",
            "1000",
            "--pages-per-block",
            "70000",
        ],
        "pages-per-block",
    ),
    (
        &["run", "--logical-pages", "1000", "--trim-share", "0.5"],
        "no page remains in use",
    ),
    (
        &[
            "run",
            "--logical-pages",
            "1000",
            "--trim-share",
            "0.1",
            "--workload",
            "zipf:1",
        ],
        "uniform",
    ),
    (&["run", "--logical-pages", "1000", "--streams"], "hot-cold"),
    (
        &["run", "--logical-pages", "1000", "--workload", "lucene"],
        "files",
    ),
    (
        &["run", "--logical-pages", "1000", "--fill", "50%"],
        "--fill",
    ),
    (&["run", "--logical-pages", "1000", "--days", "5"], "--days"),
    (
        &["run", "--logical-pages", "1000", "--capacity", "1TB"],
        "cannot be used with",
    ),
    (
        &["run", "--logical-pages", "3", "--workload", "hot-cold:1/99"],
        "divided",
    ),
    (
        &["run", "--logical-pages", "1000", "--page-bytes", "16B"],
        "512 bytes",
    ),
    (&["run", "--logical-pages", "1000", "--root", "/"], "--root"),
    (
        &["run", "--logical-pages", "1Ki", "--op", "-5%"],
        "expected a share such as 7% or 0.07, found \"-5%\"",
    ),
    (
        &["run", "--logical-pages", "1Ki", "--seed", "abc"],
        "expected a count such as 25000, 25,000, 25k or 1M, found \"abc\"",
    ),
    (
        &["run", "--logical-pages", "1Ki", "--pages-per-block", "1M"],
        "expected 1 to 65535 pages such as 256 or 16Ki, found \"1M\"",
    ),
    (
        &["run", "--logical-pages", "4294967294"],
        "expected fewer than 16777216 of 256 pages",
    ),
    (
        &["run", "--logical-pages", "1000", "--bundle", "x"],
        "--bundle",
    ),
];

/// Scenarios: drives with a filesystem.
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
            "1TB",
            "--writes-per-day",
            "1GB",
            "--trim-share",
            "0.1",
        ],
        "--trim",
    ),
    (
        &[
            "run",
            "--capacity",
            "1TB",
            "--writes-per-day",
            "1GB",
            "--passes",
            "3",
        ],
        "--passes",
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
        &["sweep", "--logical-pages", "1000", "--trim", "weekly"],
        "cannot be used with",
    ),
    (
        &["sweep", "--capacity", "1TB", "--trim-share", "0.1"],
        "--trim",
    ),
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
    for (args, expected) in [BARE, DAYS, OTHERS].concat() {
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
