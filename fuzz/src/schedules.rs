//! Schedules and what they run: crontabs, scripts, systemd units, calendar expressions.

use crate::{keep, keep_answer, text};
use host::{Command, parse};
use schedule::{Calendar, CronSpec, parse_zone};

pub fn crontab(bytes: &[u8]) {
    for kind in [parse::crontab::Kind::System, parse::crontab::Kind::User] {
        let _ = parse::crontab::parse("etc/crontab", &text(bytes), kind);
    }
    let _ = parse::crontab_jobs::from_crontab("crontab", &text(bytes));
    keep("etc/crontab", bytes);
}

pub fn anacrontab(bytes: &[u8]) {
    let _ = parse::anacrontab::parse("etc/anacrontab", &text(bytes));
    let _ = parse::anacrontab::parse_stamp(&text(bytes));
    keep("etc/anacrontab", bytes);
}

pub fn script(bytes: &[u8]) {
    let probe = |option: char, _: &str| (option == 'x').then_some(true);
    let origin = parse::shell::script::Origin::File("etc/cron.weekly/fstrim");
    let _ = parse::shell::script::scan(origin, &text(bytes), &probe);
    let _ = parse::shell::script::scan_exec(origin, &text(bytes), &probe);
    keep("etc/cron.weekly/fstrim", bytes);
}

pub fn unit(bytes: &[u8]) {
    let _ = parse::unit_file::parse("etc/systemd/system/fstrim.timer", &text(bytes));
    let _ = parse::systemd_time::parse_span_s(&text(bytes));
    keep("etc/systemd/system/fstrim.timer", bytes);
    keep("etc/systemd/system/fstrim.service", bytes);
}

pub fn systemctl_show(bytes: &[u8]) {
    let _ = parse::systemctl::parse(&text(bytes));
    let _ = parse::systemd_time::parse_timestamp(&text(bytes));
    keep_answer(&Command::SystemctlShow { units: Vec::new() }, bytes);
}

/// Whatever parses is displayed so that it parses to the same value.
pub fn cron_spec(bytes: &[u8]) {
    if let Ok(spec) = CronSpec::parse("crontab", &text(bytes)) {
        let again = CronSpec::parse("crontab", &spec.to_string()).expect("its own text parses");
        assert_eq!(again, spec);
    }
}

pub fn calendar(bytes: &[u8]) {
    let _ = parse_zone(&text(bytes));
    if let Ok(spec) = Calendar::parse("OnCalendar", &text(bytes)) {
        let again = Calendar::parse("OnCalendar", &spec.to_string()).expect("its own text parses");
        assert_eq!(again.to_string(), spec.to_string());
    }
}
