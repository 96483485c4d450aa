//! The JSON output of sysstat's `sadf -j`, what `sar` recorded, on many hosts for weeks; and of `iostat -o JSON`, whose
//! times are texts, if it has any (`-t`), and whose first record is about the time since boot.
//!
//! `{"sysstat": {"hosts": [{"nodename": .., "statistics": [..], "restarts": [..]}]}}`, where each of the
//! statistics is `{"timestamp": .., "disk": [..]}` and the like. Records are parsed one by one, so memory
//! does not grow with the length of the file. Every number becomes a series; text beside it, such as
//! `"disk-device": "vda"`, becomes its labels.

use crate::clean;
use crate::collector::{Draft, SeriesCollector};
use crate::jsonl::json_error;
use crate::options::FileOptions;
use crate::text::{Bounded, InputTracker, too_long};
use crate::times::{self, Slashes, TimeReader};
use crate::{Reading, SourceError};
use facts::InputError;
use facts::series::Dating;
use serde::Deserializer as _;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;
use units::count;

/// Maximum nesting depth of objects.
const DEPTH_MAX: usize = 8;

/// Maximum number of restarts listed individually.
const RESTARTS_MAX: usize = 10;

/// Numeric fields that identify an object rather than hold a value.
const ID_NUMBERS: &[&str] = &["line", "number", "cpu", "node", "bus_number"];

pub(crate) fn read(
    source: &str,
    input: impl BufRead,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    // The parser reads byte by byte, so the bytes counted as passed are exactly those it has parsed.
    let (bounded, passed) = Bounded::new(input);
    let mut state = State {
        source,
        passed: &passed,
        collector: SeriesCollector::new(source, &options.times, options.limits),
        reader: TimeReader::new(&options.times, None),
        utc: TimeReader::new(&options.times, None),
        host: None,
        zone: None,
        local: 0,
        records: 0,
        is_first: true,
        is_iostat: false,
        boot: 0,
        undated: 0,
        release: None,
        restarts: 0,
        failed: None,
    };
    let mut json = serde_json::Deserializer::from_reader(bounded);
    let outcome = json.deserialize_map(Walk {
        state: &mut state,
        level: Level::Top,
    });
    let outcome = outcome.and_then(|()| json.end());
    state.collector.check_limits()?;
    match (state.failed.take(), outcome) {
        (Some(error), _) => Err(error.into()),
        (None, Ok(())) => state.finish(),
        (None, Err(at)) if passed.is_too_long() => Err(too_long(source).at_line(at.line()).into()),
        (None, Err(at)) => Err(json_error(source, &at, "JSON", None)),
    }
}

struct State<'s> {
    source: &'s str,
    passed: &'s InputTracker,
    collector: SeriesCollector,
    /// Parses times without a zone.
    reader: TimeReader,
    utc: TimeReader,
    host: Option<String>,
    /// The zone named in the file.
    zone: Option<String>,
    /// Number of records with local times.
    local: usize,
    records: usize,
    /// Whether no record of this host was read, and whether they are iostat's.
    is_first: bool,
    is_iostat: bool,
    /// Records about the time since boot, and those without a time.
    boot: usize,
    undated: usize,
    release: Option<String>,
    restarts: usize,
    failed: Option<InputError>,
}

/// The level of the document that is being parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Sysstat,
    Hosts,
    Host,
    Statistics,
    Restarts,
}

impl Level {
    fn expects(self) -> &'static str {
        match self {
            Self::Top => "an object with sysstat, as sadf -j writes it",
            Self::Sysstat => "an object with hosts",
            Self::Hosts => "a list of hosts",
            Self::Host => "a host",
            Self::Statistics => "a list of statistics",
            Self::Restarts => "a list of restarts",
        }
    }
}

struct Walk<'w, 's> {
    state: &'w mut State<'s>,
    level: Level,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.level.expects())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        if !matches!(self.level, Level::Top | Level::Sysstat | Level::Host) {
            return Err(de::Error::invalid_type(de::Unexpected::Map, &self));
        }
        if self.level == Level::Host {
            self.state.host = None;
            self.state.zone = None;
            self.state.release = None;
            self.state.is_first = true;
        }
        while let Some(key) = fields.next_key::<String>()? {
            let level = match (self.level, key.as_str()) {
                (Level::Top, "sysstat") => Level::Sysstat,
                (Level::Sysstat, "hosts") => Level::Hosts,
                (Level::Host, "statistics") => Level::Statistics,
                (Level::Host, "restarts") => Level::Restarts,
                (Level::Host, "nodename" | "release" | "timezone") => {
                    let text = fields.next_value::<Value>()?.as_str().map(str::to_owned);
                    match key.as_str() {
                        "nodename" => self.state.host = text,
                        "release" => self.state.release = text,
                        _ => self.state.zone = text,
                    }
                    continue;
                }
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            fields.next_value_seed(Walk {
                state: &mut *self.state,
                level,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        match self.level {
            Level::Hosts => {
                while elements
                    .next_element_seed(Walk {
                        state: &mut *self.state,
                        level: Level::Host,
                    })?
                    .is_some()
                {}
            }
            Level::Statistics => {
                while let Some(record) = elements.next_element::<Value>()? {
                    self.state.passed.end_piece();
                    if let Err(error) = self.state.record(&record) {
                        let line = self.state.passed.line_at(u64::MAX);
                        self.state.failed = Some(error.at_line(line));
                        return Err(de::Error::custom("a record"));
                    }
                    if self.state.collector.check_limits().is_err() {
                        return Err(de::Error::custom("too much"));
                    }
                }
            }
            Level::Restarts => {
                while let Some(restart) = elements.next_element::<Value>()? {
                    self.state.passed.end_piece();
                    self.state.restart(&restart);
                }
            }
            _ => return Err(de::Error::invalid_type(de::Unexpected::Seq, &self)),
        }
        Ok(())
    }
}

/// Returns the time, such as `2026-11-22 01:18:05`, and whether it is in UTC.
fn time_text(timestamp: &Value) -> Option<(String, bool)> {
    let text = |key: &str| timestamp.get(key).and_then(Value::as_str);
    let is_utc = timestamp.get("utc").and_then(Value::as_u64) == Some(1);
    Some((format!("{} {}", text("date")?, text("time")?), is_utc))
}

impl State<'_> {
    fn record(&mut self, record: &Value) -> Result<(), InputError> {
        let timestamp = record.get("timestamp");
        let is_first = std::mem::take(&mut self.is_first);
        let is_iostat = timestamp.is_none_or(Value::is_string);
        self.is_iostat = is_iostat;
        if is_iostat && is_first {
            self.boot += 1;
            return Ok(());
        }
        let found = timestamp.map_or_else(|| "a record without".to_owned(), Value::to_string);
        let source = self.source;
        let wrong = || {
            let expected = "a timestamp with date and time in the record that ends here, as sadf -j writes it; of iostat, \
                            one whose day and month can be told apart (S_TIME_FORMAT=ISO)";
            InputError::new(source, expected, &found)
        };
        let (time_us, is_utc) = match timestamp {
            // Without -t: each counts as a second.
            None => {
                self.undated += 1;
                let second = i64::try_from(self.undated).unwrap_or(i64::MAX);
                (Some(second.saturating_mul(1_000_000)), true)
            }
            Some(Value::String(text)) => (self.read_text(text), false),
            Some(parts) => {
                let (text, is_utc) = time_text(parts).ok_or_else(wrong)?;
                let time_us = if is_utc {
                    self.utc.read_us(&format!("{text} UTC"))
                } else {
                    self.reader.read_us(&text)
                };
                (time_us.ok(), is_utc)
            }
        };
        let time_us = time_us.ok_or_else(wrong)?;
        self.local += usize::from(!is_utc);
        self.records += 1;
        let fields = record.as_object().into_iter().flatten();
        let mut path = Vec::new();
        for (key, value) in fields.filter(|(key, _)| *key != "timestamp") {
            path.push(key.as_str());
            self.leaves(&mut path, &BTreeMap::new(), value, time_us);
            path.pop();
        }
        Ok(())
    }

    /// Reads a time of iostat.
    fn read_text(&mut self, text: &str) -> Option<i64> {
        let text = times::plain(text);
        let Some(slashes) = Slashes::parse(&text) else {
            return self.reader.read_us(&text).ok();
        };
        let at = slashes.datetime(slashes.order()?)?;
        self.reader.read_local_us(at)
    }

    fn leaves<'v>(
        &mut self,
        path: &mut Vec<&'v str>,
        labels: &BTreeMap<&str, String>,
        value: &'v Value,
        time_us: i64,
    ) {
        if path.len() > DEPTH_MAX {
            return;
        }
        match value {
            Value::Object(fields) => {
                let mut labels = labels.clone();
                labels.extend(names(fields));
                for (key, value) in fields {
                    if !is_name(key, value) {
                        path.push(key);
                        self.leaves(path, &labels, value, time_us);
                        path.pop();
                    }
                }
            }
            Value::Array(elements) => {
                for element in elements {
                    self.leaves(path, labels, element, time_us);
                }
            }
            Value::Number(number) => {
                let host = self.host.as_deref();
                let mut key = path.join("\u{1f}");
                for label in labels.values().map(String::as_str).chain(host) {
                    key.push('\u{1e}');
                    key.push_str(label);
                }
                // What sar recorded outlives a kernel.
                let release = self.release.as_deref().filter(|_| self.is_iostat);
                let id = self
                    .collector
                    .id(&key, || draft(path, labels, host, release));
                self.collector.push(id, time_us, number.as_f64());
            }
            // Text was already handled as labels; nothing else occurs.
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }

    fn restart(&mut self, restart: &Value) {
        self.restarts += 1;
        if self.restarts > RESTARTS_MAX {
            return;
        }
        let boot = restart.get("boot").unwrap_or(restart);
        let host = self.host.as_deref().unwrap_or("the host");
        let when = match time_text(boot) {
            Some((text, true)) => format!("{text} UTC"),
            Some((text, false)) => text,
            None => "a time that is not told".to_owned(),
        };
        self.collector
            .warnings
            .push(format!("{host} was restarted at {when}"));
    }

    fn finish(mut self) -> Result<Reading, SourceError> {
        if self.records == 0 {
            let reason = if self.boot > 0 {
                "it holds one report only, about the time since boot; give iostat an interval"
            } else {
                "it holds no statistics"
            };
            return Err(SourceError::empty(self.source, reason));
        }
        if self.restarts > RESTARTS_MAX {
            self.collector
                .warnings
                .push(format!("{} restarts in all", self.restarts));
        }
        if self.local > 0 {
            let zone = self.zone.as_deref().unwrap_or("not named");
            self.collector.warnings.push(format!(
                "the times of {} records are local (the file's zone: {zone}), and read in the \
                 zone that was asked for",
                self.local
            ));
        }
        self.collector.warnings.extend(self.reader.notes());
        if self.boot > 0 {
            self.collector.warnings.push(format!(
                "{} left out: about the time since boot, unless iostat ran with -y",
                count(self.boot, "first record")
            ));
        }
        if self.undated > 0 {
            self.collector.warnings.push(
                "no times: each record counts as a second; iostat -t prints times".to_owned(),
            );
            return self.collector.finish(Dating::Undated);
        }
        self.collector.finish(Dating::Absolute)
    }
}

/// Returns whether a field identifies its object rather than holds a value.
fn is_name(key: &str, value: &Value) -> bool {
    value.is_string() || value.is_number() && ID_NUMBERS.contains(&key)
}

fn names(fields: &Map<String, Value>) -> impl Iterator<Item = (&str, String)> {
    fields
        .iter()
        .filter(|(key, value)| is_name(key, value))
        .map(|(key, value)| {
            let key = match key.as_str() {
                "disk-device" | "disk_device" => "device",
                "iface" => "interface",
                key => key,
            };
            let text = value.as_str().map(str::to_owned);
            (key, text.unwrap_or_else(|| value.to_string()))
        })
}

fn draft(
    path: &[&str],
    labels: &BTreeMap<&str, String>,
    host: Option<&str>,
    release: Option<&str>,
) -> Draft {
    let (leaf, sections) = path.split_last().unwrap_or((&"", &[]));
    let mut words: Vec<&str> = sections.last().copied().into_iter().collect();
    words.extend(labels.values().map(String::as_str));
    words.push(leaf);
    let name = words.join(" ");
    let mut labels: BTreeMap<String, String> = labels
        .iter()
        .map(|(key, text)| ((*key).to_owned(), text.clone()))
        .collect();
    labels.insert("metric".to_owned(), path.join("."));
    if let Some(host) = host {
        labels.insert("host".to_owned(), host.to_owned());
    }
    if let Some(release) = release {
        labels.insert("kernel".to_owned(), release.to_owned());
    }
    let unit = unit(sections, leaf);
    Draft {
        name,
        labels,
        unit: unit.map(str::to_owned),
        better: clean::better(leaf, unit),
        counter: false,
    }
}

/// Returns the unit of a number, according to sar(1).
fn unit(sections: &[&str], leaf: &str) -> Option<&'static str> {
    match leaf {
        "await" | "svctm" => Some("ms"),
        "rkB" | "wkB" | "dkB" | "rxkB" | "txkB" => Some("kB/s"),
        "areq-sz" => Some("kB"),
        _ if leaf.ends_with("-percent") || sections.contains(&"cpu-load") => Some("%"),
        _ => None,
    }
}

#[cfg(test)]
#[path = "sadf_tests.rs"]
mod tests;
