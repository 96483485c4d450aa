//! Reads the answers to requests as far as they say whether these succeeded.

use super::framing::Sink;
use super::outcome::{Documents, ErrorClass};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::fmt;

/// Both `errors` of a bulk answer and the state of the shards stand at the front of an answer.
const FRONT_BYTES: usize = 512;
/// The longest bulk answer with errors that is read: each connection may hold one.
const BULK_BYTES_MAX: usize = 8 << 20;
/// Memory that a connection keeps between answers.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// What an answer is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The status alone.
    Plain,
    /// Refused documents.
    Bulk {
        /// Documents in the request.
        documents: u64,
    },
    /// Failed shards.
    Search,
    /// The status, and the front of the body is kept whatever the status is.
    Front,
}

/// The answer of a connection's present request.
#[derive(Debug)]
pub(super) struct Answer {
    kind: Kind,
    status: u16,
    bytes: Vec<u8>,
    /// Length of the body.
    pub(super) len_bytes: u64,
    /// No more is kept.
    decided: bool,
}

impl Answer {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            status: 0,
            bytes: Vec::new(),
            len_bytes: 0,
            decided: false,
        }
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// Whether the status is one of success.
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first bytes of the body, as far as they are kept.
    pub(super) fn front(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().min(FRONT_BYTES)]
    }

    fn has_no_errors(&self) -> bool {
        contains(self.front(), b"\"errors\":false")
    }

    /// Judges it, once it is complete.
    pub(super) fn judge(&self) -> (Option<ErrorClass>, Documents) {
        let mut documents = Documents::default();
        if !self.is_success() {
            let error = match self.status {
                429 => ErrorClass::TooManyRequests,
                400..=499 => ErrorClass::Status4xx,
                500..=599 => ErrorClass::Status5xx,
                _ => ErrorClass::StatusOther,
            };
            if let Kind::Bulk { documents: sent } = self.kind {
                match error {
                    ErrorClass::TooManyRequests => documents.rejected = sent,
                    _ => documents.failed = sent,
                }
            }
            return (Some(error), documents);
        }
        let error = match self.kind {
            Kind::Plain | Kind::Front => None,
            Kind::Search => is_partial(self.front()).then_some(ErrorClass::PartialResult),
            Kind::Bulk { documents: sent } if self.has_no_errors() => {
                documents.written = sent;
                None
            }
            Kind::Bulk { documents: sent } => match bulk(&self.bytes, sent) {
                Some((false, of)) => {
                    documents = of;
                    None
                }
                Some((true, of)) => {
                    documents = of;
                    Some(ErrorClass::BulkItems)
                }
                None => Some(ErrorClass::Answer),
            },
        };
        (error, documents)
    }
}

impl Sink for Answer {
    fn begin(&mut self, status: u16) {
        self.status = status;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
        self.len_bytes = 0;
        self.decided = match self.kind {
            Kind::Plain => true,
            Kind::Front => false,
            Kind::Bulk { .. } | Kind::Search => !self.is_success(),
        };
    }

    fn push(&mut self, part: &[u8]) {
        self.len_bytes += part.len() as u64;
        if self.decided {
            return;
        }
        let max = match self.kind {
            Kind::Bulk { .. } => BULK_BYTES_MAX,
            _ => FRONT_BYTES,
        };
        let room = max + 1 - self.bytes.len().min(max + 1);
        self.bytes.extend_from_slice(&part[..part.len().min(room)]);
        // A bulk answer without errors is not kept for its items.
        self.decided = match self.kind {
            Kind::Bulk { .. } => self.has_no_errors(),
            _ => self.bytes.len() > max,
        };
    }
}

/// Whether a search timed out or shards failed, by the front of its answer.
fn is_partial(front: &[u8]) -> bool {
    let failed = b"\"failed\":";
    contains(front, b"\"timed_out\":true")
        || front
            .windows(failed.len() + 1)
            .find(|window| window.starts_with(failed))
            .is_some_and(|window| window[failed.len()] != b'0')
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// Whether a bulk answer tells of errors, and what became of the documents.
fn bulk(bytes: &[u8], sent: u64) -> Option<(bool, Documents)> {
    #[derive(Deserialize)]
    struct Bulk {
        errors: bool,
        #[serde(default)]
        items: Items,
    }
    let bulk: Bulk = serde_json::from_slice(bytes).ok()?;
    let Items { rejected, failed } = bulk.items;
    let written = sent.checked_sub(rejected + failed)?;
    Some((
        bulk.errors,
        Documents {
            written,
            rejected,
            failed,
        },
    ))
}

/// The items of a bulk answer, counted while they are read.
#[derive(Debug, Default)]
struct Items {
    rejected: u64,
    failed: u64,
}

#[derive(Deserialize)]
struct Item {
    #[serde(alias = "create", alias = "update", alias = "delete")]
    index: ItemResult,
}

#[derive(Deserialize)]
struct ItemResult {
    error: Option<ItemError>,
}

/// `{"type":"..."}`; servers before 5.0 send a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum ItemError {
    Typed { r#type: String },
    Other(IgnoredAny),
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counting;
        impl<'de> Visitor<'de> for Counting {
            type Value = Items;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of items")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Items, A::Error> {
                let mut items = Items::default();
                while let Some(item) = list.next_element::<Item>()? {
                    match item.index.error {
                        None => {}
                        // es_rejected_execution_exception, rejected_execution_exception
                        Some(ItemError::Typed { r#type })
                            if r#type.contains("rejected_execution") =>
                        {
                            items.rejected += 1;
                        }
                        Some(ItemError::Typed { .. } | ItemError::Other(_)) => items.failed += 1,
                    }
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(Counting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn judged(kind: Kind, status: u16, body: &str) -> (Option<ErrorClass>, Documents) {
        let mut answer = Answer::new(kind);
        answer.begin(status);
        for part in body.as_bytes().chunks(7) {
            answer.push(part);
        }
        assert_eq!(answer.len_bytes, body.len() as u64);
        answer.judge()
    }

    #[test]
    fn statuses_are_classes() {
        for (status, error) in [
            (200, None),
            (201, None),
            (302, Some(ErrorClass::StatusOther)),
            (404, Some(ErrorClass::Status4xx)),
            (429, Some(ErrorClass::TooManyRequests)),
            (503, Some(ErrorClass::Status5xx)),
        ] {
            assert_eq!(judged(Kind::Plain, status, "x").0, error, "{status}");
        }
        let (error, documents) = judged(Kind::Bulk { documents: 5 }, 429, "{}");
        assert_eq!(
            (error, documents.rejected),
            (Some(ErrorClass::TooManyRequests), 5)
        );
    }

    #[test]
    fn refused_documents_are_counted() {
        let kind = Kind::Bulk { documents: 4 };
        let documents = |written, rejected, failed| Documents {
            written,
            rejected,
            failed,
        };
        for (body, expected) in [
            (
                r#"{"took":3,"errors":false,"items":[]}"#,
                (None, documents(4, 0, 0)),
            ),
            (r#"{"errors": false}"#, (None, documents(4, 0, 0))),
            (
                r#"{"took":3,"errors":true,"items":[{"index":{"status":201}},
                    {"index":{"status":429,"error":{"type":"es_rejected_execution_exception","reason":"full"}}},
                    {"create":{"status":409,"error":{"type":"version_conflict_engine_exception"}}},
                    {"update":{"status":200}}]}"#,
                (Some(ErrorClass::BulkItems), documents(2, 1, 1)),
            ),
            (
                r#"{"errors":true,"items":[{"index":{"error":"mapping"}}]}"#,
                (Some(ErrorClass::BulkItems), documents(3, 0, 1)),
            ),
            ("<html>", (Some(ErrorClass::Answer), documents(0, 0, 0))),
            ("", (Some(ErrorClass::Answer), documents(0, 0, 0))),
        ] {
            assert_eq!(judged(kind, 200, body), expected, "{body}");
        }
    }

    #[test]
    fn a_partial_result_is_not_a_success() {
        let body = |timed_out, failed| {
            format!(
                r#"{{"took":3,"timed_out":{timed_out},"_shards":{{"total":5,"successful":5,"skipped":0,"failed":{failed}}},"hits":{{"x":"{}"}}}}"#,
                "y".repeat(2000)
            )
        };
        assert_eq!(judged(Kind::Search, 200, &body(false, 0)).0, None);
        for (timed_out, failed) in [(true, 0), (false, 2)] {
            let found = judged(Kind::Search, 200, &body(timed_out, failed)).0;
            assert_eq!(found, Some(ErrorClass::PartialResult));
        }
    }

    proptest! {
        #[test]
        fn any_body_is_handled_without_panic(body: String, documents in 0_u64..5) {
            for kind in [Kind::Bulk { documents }, Kind::Search, Kind::Plain] {
                judged(kind, 200, &body);
            }
        }
    }
}
