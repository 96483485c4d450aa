//! Reads a track and checks what its types cannot express.

use super::parameter::{PARAMETERS_MAX, fault};
use super::requests::search_path;
use super::template::{Template, TemplateError};
use super::types::{
    Arrivals, Bulk, GeneratorSpec, Load, Operation, Pace, Parameter, Phase, PhaseKind, Track,
    WriteAction,
};
use std::collections::BTreeMap;
use std::str::FromStr;
use thiserror::Error;

/// The longest track.
const TRACK_BYTES_MAX: usize = 1 << 20;
/// The most of anything that a track lists.
const LISTED_MAX: usize = 100;
/// The longest name of an operation or a phase.
const LABEL_CHARS_MAX: usize = 100;
/// The most loads of all phases together: the histograms of each take a megabyte.
const LOADS_MAX: usize = 200;
/// The most clients or connections of one load: each has a buffer and a socket.
const CONNECTIONS_MAX: u32 = 10_000;
/// The most documents in one bulk request.
const DOCUMENTS_MAX: u64 = 1_000_000;
/// The most hosts, processes and cores of a generator.
const HOSTS_MAX: u32 = 10_000;
/// The longest payload of an updater's record.
const PAYLOAD_BYTES_MAX: u64 = 1 << 24;

/// A track that cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TrackError {
    /// Not TOML, or a key or value that a track does not have, with its place.
    #[error("{}", units::escape(message.trim_end()))]
    Toml {
        /// The parser's message.
        message: String,
    },
    /// A value that does not go with the others.
    #[error("{at}: {problem}", at = units::escape(at))]
    Value {
        /// Where, such as `operation.index`.
        at: String,
        /// What was expected and what was found.
        problem: String,
    },
    /// Too long.
    #[error("expected a track of at most {}, found a longer one", units::bytes(TRACK_BYTES_MAX as u64))]
    TooLong,
}

impl FromStr for Track {
    type Err = TrackError;

    fn from_str(text: &str) -> Result<Self, TrackError> {
        if text.len() > TRACK_BYTES_MAX {
            return Err(TrackError::TooLong);
        }
        let track: Track = toml::from_str(text).map_err(|error| TrackError::Toml {
            message: toml_message(&error, text),
        })?;
        track.check()?;
        Ok(track)
    }
}

/// A parser's message in one line, with the line of the track.
fn toml_message(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().lines().collect::<Vec<_>>().join(": ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message,
    }
}

fn wrong(at: impl Into<String>, problem: impl Into<String>) -> TrackError {
    TrackError::Value {
        at: at.into(),
        problem: problem.into(),
    }
}

/// Returns the error `problem` at a place unless `holds`.
fn expect<P: Into<String>>(
    holds: bool,
    at: &str,
    problem: impl FnOnce() -> P,
) -> Result<(), TrackError> {
    if holds {
        Ok(())
    } else {
        Err(wrong(at, problem()))
    }
}

impl Track {
    /// Checks a track that was put together in another way than by parsing it.
    ///
    /// # Errors
    /// If a value is out of bounds, or a name is not defined.
    pub fn check(&self) -> Result<(), TrackError> {
        for (at, len) in [
            ("generator", self.generator.len()),
            ("operation", self.operation.len()),
            ("phase", self.phase.len()),
            ("setup", self.setup.len()),
            ("teardown", self.teardown.len()),
        ] {
            expect(len <= LISTED_MAX, at, || {
                format!("expected at most {LISTED_MAX}, found {len}")
            })?;
        }
        let loads: usize = self.phase.iter().map(|phase| phase.load.len()).sum();
        expect(loads <= LOADS_MAX, "phase", || {
            format!("expected at most {LOADS_MAX} loads in all phases together, found {loads}")
        })?;
        expect(
            !self.phase.is_empty(),
            "phase",
            || "expected at least one [[phase]], found none",
        )?;
        for (list, requests) in [("setup", &self.setup), ("teardown", &self.teardown)] {
            for (index, request) in requests.iter().enumerate() {
                check_path(&format!("{list} {}", index + 1), &request.path)?;
            }
        }
        for (name, generator) in &self.generator {
            check_generator(&format!("generator.{name}"), generator)?;
        }
        for (name, operation) in &self.operation {
            check_label("operation", name)?;
            self.check_operation(&format!("operation.{name}"), operation)?;
        }
        let measured = |phase: &&Phase| phase.kind == PhaseKind::Measured;
        expect(
            self.phase.iter().any(|phase| measured(&phase)),
            "phase",
            || "every phase is a warm-up, so nothing would be measured: remove kind = \"warm-up\" from the last",
        )?;
        if let Some(late) = self
            .phase
            .iter()
            .skip_while(|phase| !measured(phase))
            .find(|phase| !measured(phase))
        {
            return Err(wrong(
                format!("phase {}", late.name),
                "a warm-up comes before what is measured: what servers and host count is read from the first \
                 measured phase to the last",
            ));
        }
        self.phase
            .iter()
            .try_for_each(|phase| self.check_phase(phase))
    }

    fn check_operation(&self, at: &str, operation: &Operation) -> Result<(), TrackError> {
        match operation {
            Operation::Bulk(bulk) => self.check_bulk(at, bulk),
            Operation::Search(search) => {
                if search.path.is_none() {
                    check_name(at, "index", &search.index)?;
                }
                check_path(at, &search_path(search))?;
                check_templates(
                    at,
                    &search.parameters,
                    &[&search_path(search), &search.body],
                )
            }
            Operation::Get(get) => {
                check_path(at, &get.path)?;
                check_templates(at, &get.parameters, &[&get.path])
            }
        }
    }

    fn check_bulk(&self, at: &str, bulk: &Bulk) -> Result<(), TrackError> {
        let Some(generator) = self.generator.get(&bulk.generator) else {
            let name = units::escape(&bulk.generator);
            return Err(wrong(
                at,
                format!("no generator is named {name}: add [generator.{name}]"),
            ));
        };
        let found = bulk.documents.0;
        expect((1..=DOCUMENTS_MAX).contains(&found), at, || {
            format!("expected documents from 1 to {DOCUMENTS_MAX}, found {found}")
        })?;
        let has_keys = bulk.action != WriteAction::Update || generator.has_keys();
        expect(
            has_keys,
            at,
            || "an update needs keys, which only a generator of kind \"updates\" has",
        )?;
        check_name(at, "index", &bulk.index)?;
        if let Some(mapping_type) = &bulk.mapping_type {
            check_name(at, "mapping_type", mapping_type)?;
        }
        check_path(at, &bulk.path)?;
        check_templates(at, &BTreeMap::new(), &[&bulk.path])
    }

    fn check_phase(&self, phase: &Phase) -> Result<(), TrackError> {
        check_label("phase", &phase.name)?;
        let at = format!("phase {}", phase.name);
        let found = phase.load.len();
        expect((1..=LISTED_MAX).contains(&found), &at, || {
            format!("expected 1 to {LISTED_MAX} loads, found {found}")
        })?;
        for (index, load) in phase.load.iter().enumerate() {
            let at = format!("{at}, load {}", units::escape(&load.operation));
            expect(self.operation.contains_key(&load.operation), &at, || {
                let name = units::escape(&load.operation);
                format!("no operation is named {name}: add [operation.{name}]")
            })?;
            let mut others = phase.load[..index].iter();
            let is_first = others.all(|other| other.operation != load.operation);
            expect(
                is_first,
                &at,
                || "the operation has another load in this phase",
            )?;
            check_load(&at, load)?;
            let ends = phase.duration.is_some() || load.count.is_some();
            expect(
                ends,
                &at,
                || "expected the phase's duration or a count, found neither",
            )?;
        }
        Ok(())
    }
}

fn check_load(at: &str, load: &Load) -> Result<(), TrackError> {
    let connections = match load.pace() {
        Some(Pace::Closed { clients }) => {
            let arrivals = load.arrivals.unwrap_or_default();
            for (name, given) in [
                ("arrivals", arrivals != Arrivals::Fixed),
                ("connections", load.connections.is_some()),
            ] {
                expect(!given, at, || {
                    format!("{name} goes with rate, not with clients")
                })?;
            }
            clients
        }
        Some(Pace::Open { connections, .. }) => connections,
        None => {
            let found = if load.clients.is_some() {
                "both"
            } else {
                "neither"
            };
            return Err(wrong(
                at,
                format!("expected either clients (closed loop) or rate (open loop), found {found}"),
            ));
        }
    };
    expect((1..=CONNECTIONS_MAX).contains(&connections), at, || {
        format!("expected 1 to {CONNECTIONS_MAX} clients or connections, found {connections}")
    })?;
    let has_requests = load.count.is_none_or(|count| count.0 > 0);
    expect(has_requests, at, || "expected a count above 0")
}

fn check_generator(at: &str, generator: &GeneratorSpec) -> Result<(), TrackError> {
    match generator {
        GeneratorSpec::Metricbeat(options) => {
            let bounds = [
                ("hosts", options.hosts, 1),
                ("processes", options.processes, 0),
                ("cores", options.cores, 1),
            ];
            for (name, found, min) in bounds {
                expect((min..=HOSTS_MAX).contains(&found), at, || {
                    format!("expected {name} from {min} to {HOSTS_MAX}, found {found}")
                })?;
            }
            let is_period = options.period.duration().as_millis() > 0;
            expect(is_period, at, || "expected a period of at least 1ms")
        }
        GeneratorSpec::WebLog(options) => {
            let has_both = options.clients.0 > 0 && options.pages.0 > 0;
            expect(has_both, at, || "expected clients and pages above 0")
        }
        GeneratorSpec::Updates(options) => {
            expect(options.keys.0 > 0, at, || "expected keys above 0")?;
            // Keys are numbers of at most 12 digits, so that their order as text is numeric.
            let are_short = options.keys.0 <= 1_000_000_000_000;
            expect(are_short, at, || "expected at most 10^12 keys")?;
            expect(options.payload.bytes <= PAYLOAD_BYTES_MAX, at, || {
                let max = units::bytes(PAYLOAD_BYTES_MAX);
                format!("expected a payload of at most {max}")
            })
        }
    }
}

/// Names of what has figures stand in tables, and in the heads of CSV files that other programs show.
fn check_label(at: &str, name: &str) -> Result<(), TrackError> {
    let fits = (1..=LABEL_CHARS_MAX).contains(&name.chars().count());
    expect(fits && units::escape(name) == name, at, || {
        let found = units::escape(units::cut(name, 60).as_ref()).into_owned();
        format!(
            "expected a name of 1 to {LABEL_CHARS_MAX} characters, none of them invisible, found {found:?}"
        )
    })
}

/// Names stand in paths and in JSON as they are.
fn check_name(at: &str, key: &str, name: &str) -> Result<(), TrackError> {
    let plain =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'/' | b'?' | b'#');
    let fits = (1..=255).contains(&name.len());
    expect(fits && name.bytes().all(plain), at, || {
        let found = units::escape(name);
        format!("expected {key} without spaces, quotes, slashes, ? and #, found {found:?}")
    })
}

fn check_path(at: &str, path: &str) -> Result<(), TrackError> {
    let plain = path
        .bytes()
        .all(|byte| byte.is_ascii_graphic() || byte == b' ');
    // Spaces may stand in placeholders only.
    let outside = path
        .split("{{")
        .map(|part| part.split_once("}}").map_or(part, |(_, rest)| rest));
    let spaced = outside
        .into_iter()
        .any(|part| part.contains([' ', '#', '{', '}', '"', '<', '>', '\\', '^', '`', '|']));
    let fits = path.starts_with('/') && path.len() <= 4096;
    expect(fits && plain && !spaced, at, || {
        let found = units::escape(units::cut(path, 60).as_ref()).into_owned();
        format!(
            "expected a path such as /index/_doc (percent-encode the rest, %20 for a space), found {found:?}"
        )
    })
}

fn check_templates(
    at: &str,
    parameters: &BTreeMap<String, Parameter>,
    texts: &[&str],
) -> Result<(), TrackError> {
    let found = parameters.len();
    expect(found <= PARAMETERS_MAX, at, || {
        format!("expected at most {PARAMETERS_MAX} parameters, found {found}")
    })?;
    for name in parameters.keys() {
        if let Some(fault) = fault(parameters, name) {
            return Err(wrong(format!("{at}.parameters.{name}"), fault));
        }
    }
    let mut used = vec![false; parameters.len()];
    for text in texts {
        let template = Template::parse(text, |name| {
            parameters.keys().position(|known| known == name)
        })
        .map_err(|error| match error {
            TemplateError::Open => wrong(at, "a {{ without its }}"),
            TemplateError::Unknown(name) => {
                let name = units::escape(&name).into_owned();
                wrong(
                    at,
                    format!("no parameter is named {name}: add parameters.{name}"),
                )
            }
        })?;
        for (index, used) in used.iter_mut().enumerate() {
            *used |= template.uses(index);
        }
    }
    // A parameter that only another one is computed from is used.
    for parameter in parameters.values() {
        if let Parameter::After { parameter, .. } = parameter
            && let Some(index) = parameters.keys().position(|name| name == parameter)
        {
            used[index] = true;
        }
    }
    match parameters.keys().zip(used).find(|(_, used)| !used) {
        Some((name, _)) => Err(wrong(
            format!("{at}.parameters.{name}"),
            "not used: write it as {{name}} in the path or the body",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALID: &str = r#"
name = "t"
[generator.g]
kind = "metricbeat"
[operation.index]
kind = "bulk"
generator = "g"
index = "i"
documents = "1k"
[operation.read]
kind = "get"
path = "/i/_doc/{{ key }}"
parameters.key = { kind = "key", keys = "1M", distribution = "zipf" }
[[phase]]
name = "p"
duration = "1m"
load = [{ operation = "index", clients = 2 }, { operation = "read", rate = "20/s" }]
"#;

    #[test]
    fn a_track_is_read_and_written() {
        let track: Track = VALID.parse().unwrap();
        assert_eq!(
            track.phase[0].load[1].rate.unwrap().per_s().to_bits(),
            20.0_f64.to_bits()
        );
        let json = serde_json::to_string(&track).unwrap();
        assert_eq!(serde_json::from_str::<Track>(&json).unwrap(), track);
    }

    #[test]
    fn faults_are_told_with_their_place() {
        for (from, to, expected) in [
            (
                "documents = \"1k\"",
                "documents = 0",
                "operation.index: expected documents from 1",
            ),
            (
                "documents = \"1k\"",
                "documents = \"1k\"\nsize = 3",
                "unknown field `size`",
            ),
            (
                "generator = \"g\"",
                "generator = \"h\"",
                "operation.index: no generator is named h",
            ),
            (
                "index = \"i\"",
                "index = \"a\\\"b\"",
                "operation.index: expected index without",
            ),
            (
                "index = \"i\"",
                "index = \"i\"\naction = \"update\"",
                "operation.index: an update needs keys",
            ),
            (
                "{{ key }}",
                "{{ kay }}",
                "operation.read: no parameter is named kay",
            ),
            ("{{ key }}", "1", "operation.read.parameters.key: not used"),
            (
                "operation.read",
                "operation.\"re\\u001bad\"",
                "operation: expected a name of 1 to 100 characters, none of them invisible, found",
            ),
            (
                "name = \"p\"",
                "name = \"\"",
                "phase: expected a name of 1 to 100",
            ),
            ("{{ key }}", "a b", "operation.read: expected a path"),
            (
                "rate = \"20/s\"",
                "rate = \"20\"",
                "expected a rate such as",
            ),
            (
                "rate = \"20/s\"",
                "rate = \"20/s\", clients = 2",
                "expected either clients (closed loop) or rate (open loop), found both",
            ),
            (
                "rate = \"20/s\"",
                "rate = \"20/s\", connections = 0",
                "expected 1 to 10000",
            ),
            (
                "clients = 2",
                "clients = 2, connections = 3",
                "connections goes with rate",
            ),
            (
                "duration = \"1m\"",
                "",
                "expected the phase's duration or a count",
            ),
            (
                "duration = \"1m\"",
                "duration = \"1 parsec\"",
                "line 16: expected",
            ),
            (
                "operation = \"read\"",
                "operation = \"write\"",
                "no operation is named write",
            ),
            (
                "operation = \"read\"",
                "operation = \"index\"",
                "another load",
            ),
        ] {
            let text = VALID.replace(from, to);
            assert_ne!(text, VALID, "{from}");
            let error = text.parse::<Track>().unwrap_err().to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn the_schema_names_units() {
        let schema = crate::track::JSON_SCHEMA;
        assert!(
            schema.contains("20/s") && schema.contains("warm-up"),
            "{schema}"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_handled_without_panic(text in ".*") {
            let _ = text.parse::<Track>();
        }

        #[test]
        fn a_cut_track_is_handled_without_panic(at in 0..VALID.len()) {
            let _ = VALID[..at].parse::<Track>();
        }

        #[test]
        fn foreign_text_is_escaped_in_errors(name in "[\u{1}-\u{1f}\u{7f}]{1,5}") {
            let text = VALID.replace("operation = \"read\"", &format!("operation = {name:?}"));
            let error = text.parse::<Track>().unwrap_err().to_string();
            prop_assert!(!error.contains(char::is_control), "{:?}", error);
        }
    }
}
