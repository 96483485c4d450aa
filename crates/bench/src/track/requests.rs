//! The requests of an operation, prepared before the clock starts.
//!
//! Bulk bodies are built beforehand and kept in memory, as a ring: request n sends body n modulo the number of
//! bodies. Building them during the trial would take the CPU that is being measured, and reading them from a
//! file would read from a drive that may be under test and displace its page cache. So a long trial writes the
//! same documents again, and [`Prepared`] says how many there are. Bodies of searches are short, and made from
//! their template just before they are sent, because a repeated search may be answered from a cache.

use super::documents::Generator;
use super::parameter::Drawer;
use super::template::Template;
use super::types::{Bulk, Operation, Parameter, Search, Track, WriteAction};
use crate::random::Random;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::Write as _;

/// Why requests could not be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// One bulk body is longer than the memory for all of them.
    #[error(
        "operation {}: a bulk request of {documents} documents is longer than {}, the memory for prepared \
         requests: ask for fewer documents, or allow more memory",
        units::escape(operation),
        units::bytes(*bytes_max)
    )]
    TooLong {
        /// The operation.
        operation: String,
        /// Documents in a request.
        documents: u64,
        /// The memory allowed.
        bytes_max: u64,
    },
    /// The track was not validated.
    #[error(
        "operation {} is not valid: parse the track again",
        units::escape(operation)
    )]
    Invalid {
        /// The operation.
        operation: String,
    },
}

/// What was prepared for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Prepared {
    /// Number of different bulk bodies; `None` if each request is made anew, or has no body.
    pub bodies: Option<u64>,
    /// Documents in all of them.
    pub documents: u64,
    /// Their total length.
    pub len_bytes: u64,
}

/// What an operation sends.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Method `POST` instead of `GET`.
    pub(crate) post: bool,
    /// Path and query.
    pub(crate) path: Template,
    pub(crate) body: Body,
    /// Documents in each request; 0 if it writes none.
    pub(crate) documents: u64,
    /// The seed of its parameters.
    pub(crate) seed: u64,
    /// Draws the parameters of path and body.
    pub(crate) drawer: Drawer,
}

/// Where bodies come from.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// No body.
    None,
    /// Prepared ones, newline-delimited JSON.
    Ring(Vec<Bytes>),
    /// A template, JSON.
    Template(Template),
}

impl Source {
    pub(crate) fn prepared(&self) -> Prepared {
        match &self.body {
            Body::Ring(bodies) => Prepared {
                bodies: Some(bodies.len() as u64),
                documents: bodies.len() as u64 * self.documents,
                len_bytes: bodies.iter().map(|body| body.len() as u64).sum(),
            },
            Body::None | Body::Template(_) => Prepared::default(),
        }
    }

    /// Prepares an operation of a valid track. Bulk bodies get at most `bytes_max` together, and are no more
    /// than `requests_max`, if the number of requests is known.
    ///
    /// # Errors
    /// If a single bulk body is longer than that.
    pub(crate) fn prepare(
        track: &Track,
        name: &str,
        requests_max: Option<u64>,
        bytes_max: u64,
    ) -> Result<Self, PrepareError> {
        let invalid = || PrepareError::Invalid {
            operation: name.to_owned(),
        };
        let nothing = BTreeMap::new();
        let template = |text: &str, parameters: &BTreeMap<String, Parameter>| {
            Template::parse(text, |name| {
                parameters.keys().position(|known| known == name)
            })
            .map_err(|_| invalid())
        };
        let operation = track.operation.get(name).ok_or_else(invalid)?;
        let (path, parameters) = match operation {
            Operation::Bulk(bulk) => (bulk.path.clone(), &nothing),
            Operation::Search(search) => (search_path(search), &search.parameters),
            Operation::Get(get) => (get.path.clone(), &get.parameters),
        };
        Ok(Self {
            post: !matches!(operation, Operation::Get(_)),
            path: template(&path, parameters)?,
            body: match operation {
                Operation::Bulk(bulk) => {
                    Body::Ring(bodies(track, name, bulk, requests_max, bytes_max)?)
                }
                Operation::Search(search) => Body::Template(template(&search.body, parameters)?),
                Operation::Get(_) => Body::None,
            },
            documents: match operation {
                Operation::Bulk(bulk) => bulk.documents.0,
                Operation::Search(_) | Operation::Get(_) => 0,
            },
            seed: Random::seed_of(track.seed, name),
            drawer: Drawer::new(parameters),
        })
    }
}

/// Returns path and query of a search.
pub(super) fn search_path(search: &Search) -> String {
    search.path.clone().unwrap_or_else(|| {
        format!(
            "/{}/_search?request_cache={}",
            search.index, search.request_cache
        )
    })
}

/// Bodies of an operation with this name: as many as are wanted and find room.
fn bodies(
    track: &Track,
    name: &str,
    bulk: &Bulk,
    requests_max: Option<u64>,
    bytes_max: u64,
) -> Result<Vec<Bytes>, PrepareError> {
    let spec = track
        .generator
        .get(&bulk.generator)
        .ok_or_else(|| PrepareError::Invalid {
            operation: name.to_owned(),
        })?;
    // The seed is the operation's, so that two operations with one generator do not write the same keys.
    let mut generator = Generator::new(spec, Random::seed_of(track.seed, name));
    let mut bodies = Vec::new();
    let mut room = bytes_max;
    let mut out = Vec::new();
    while requests_max.is_none_or(|max| (bodies.len() as u64) < max) {
        out.clear();
        append(bulk, &mut generator, room, &mut out);
        match room.checked_sub(out.len() as u64) {
            Some(left) => room = left,
            None => break,
        }
        bodies.push(Bytes::copy_from_slice(&out));
    }
    if bodies.is_empty() && requests_max != Some(0) {
        return Err(PrepareError::TooLong {
            operation: name.to_owned(),
            documents: bulk.documents.0,
            bytes_max,
        });
    }
    Ok(bodies)
}

/// Appends a bulk body. One that has become longer than `room` lacks some of its documents.
fn append(bulk: &Bulk, generator: &mut Generator, room: u64, out: &mut Vec<u8>) {
    let (mut key, mut document) = (Vec::new(), Vec::new());
    for _ in 0..bulk.documents.0 {
        key.clear();
        document.clear();
        generator.write(&mut document, &mut key);
        append_lines(bulk, &key, &document, out);
        if out.len() as u64 > room {
            break;
        }
    }
}

/// Appends the two lines of a document.
fn append_lines(bulk: &Bulk, key: &[u8], document: &[u8], out: &mut Vec<u8>) {
    let action = match bulk.action {
        WriteAction::Index => "index",
        WriteAction::Update => "update",
    };
    // Validation allows no character in a name that would need escaping.
    let _ = write!(out, r#"{{"{action}":{{"_index":"{}""#, bulk.index);
    if let Some(mapping_type) = &bulk.mapping_type {
        let _ = write!(out, r#","_type":"{mapping_type}""#);
    }
    if !key.is_empty() {
        out.extend_from_slice(br#","_id":""#);
        out.extend_from_slice(key);
        out.push(b'"');
    }
    out.extend_from_slice(b"}}\n");
    if bulk.action == WriteAction::Update {
        out.extend_from_slice(br#"{"doc":"#);
        out.extend_from_slice(document);
        out.extend_from_slice(br#","doc_as_upsert":true}"#);
    } else {
        out.extend_from_slice(document);
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(bulk: &str) -> Track {
        format!(
            r#"
            name = "t"
            [generator.g]
            kind = "updates"
            keys = 100
            [operation.o]
            kind = "bulk"
            generator = "g"
            index = "i"
            {bulk}
            [[phase]]
            name = "p"
            load = [{{ operation = "o", clients = 1, count = 10 }}]
            "#
        )
        .parse()
        .unwrap()
    }

    fn ring(track: &Track, requests_max: Option<u64>, bytes_max: u64) -> Vec<Bytes> {
        match Source::prepare(track, "o", requests_max, bytes_max)
            .unwrap()
            .body
        {
            Body::Ring(bodies) => bodies,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bodies_are_pairs_of_lines() {
        let track = track("documents = 3\naction = \"update\"\nmapping_type = \"doc\"");
        let bodies = ring(&track, Some(4), 1 << 20);
        assert_eq!(bodies.len(), 4);
        for body in &bodies {
            assert!(body.ends_with(b"\n"));
            let lines: Vec<serde_json::Value> = body
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(|line| serde_json::from_slice(line).unwrap())
                .collect();
            assert_eq!(lines.len(), 6);
            for pair in lines.chunks(2) {
                let action = &pair[0]["update"];
                assert_eq!(
                    (&action["_index"], &action["_type"]),
                    (&"i".into(), &"doc".into())
                );
                let number = pair[1]["doc"]["number"].as_u64().unwrap();
                assert_eq!(action["_id"], format!("user{number:012}"));
                assert_eq!(pair[1]["doc_as_upsert"], true);
            }
        }
    }

    #[test]
    fn memory_bounds_the_ring_and_the_same_seed_gives_the_same_bodies() {
        let track = track("documents = 3");
        let bodies = ring(&track, None, 10_000);
        let len: usize = bodies.iter().map(Bytes::len).sum();
        assert!((5_000..=10_000).contains(&len), "{len}");
        assert_eq!(ring(&track, Some(2), 10_000), bodies[..2]);
        let error = Source::prepare(&track, "o", None, 100).unwrap_err();
        assert!(
            matches!(error, PrepareError::TooLong { documents: 3, .. }),
            "{error}"
        );
    }
}
