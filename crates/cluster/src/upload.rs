//! Sends documents to indices of a cluster, by `_bulk`.
//!
//! This is the only part that writes to a cluster, and only to the indices that it is given. An index that is missing is
//! made first, with its mapping, unless the master has other work: making an index costs the master most when the cluster
//! is in trouble.

use crate::ask::AskError;
use crate::green::{self, Health, Status};
use crate::shards::ask_root;
use bounded_http::{Client, Endpoint, ErrorKind, HttpError, Response, shown};
use facts::cluster::{Flavour, ServerVersion};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;

/// Length at which the actions so far are sent, in bytes. The server's limit is 100 MB unless configured.
const REQUEST_BYTES: usize = 4 << 20;
/// How often a request is repeated that the server has no room for.
const RETRIES: u32 = 5;
/// The wait before the first repetition; doubled each time.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const BULK: &str = "/_bulk?filter_path=items.*._id,items.*.status,items.*.result,items.*.error.type,items.*.error.reason";
/// Where a mapping has its version: below `_meta`.
const VERSION: &str = "trimtab_version";

/// Indices that documents are sent to.
#[derive(Debug, Clone, Copy)]
pub struct Indices<'a> {
    /// Their names.
    pub names: &'a [&'a str],
    /// An index template whose settings and mapping they have. Its mapping has a version (`_meta.trimtab_version`),
    /// which is increased with each change.
    pub template: &'a str,
}

/// What became of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uploaded {
    /// Documents that were not there before.
    pub created: u64,
    /// Documents that changed.
    pub updated: u64,
    /// Documents that are no more.
    pub deleted: u64,
    /// Documents that were the same, and those to be deleted that were not there.
    pub unchanged: u64,
}

/// Why documents were not sent, or not all.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// No or no usable answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A version with which this does not work.
    #[error(
        "{endpoint}: {found} takes no such documents: expected Elasticsearch 7 or later, or OpenSearch"
    )]
    TooOld {
        /// The URL.
        endpoint: String,
        /// What answered.
        found: String,
    },
    /// An index would have to be made or extended, and the cluster is not in a state for that.
    #[error(
        "{endpoint}: the index {index} is missing or outdated, and was left alone: the cluster {why}"
    )]
    NotNow {
        /// The URL.
        endpoint: String,
        /// The index.
        index: String,
        /// `is red`, `has 12 tasks waiting`.
        why: String,
    },
    /// The server refused documents.
    #[error("{endpoint}: {refused} of {sent} documents refused, the first ({id}): {reason}")]
    Refused {
        /// The URL.
        endpoint: String,
        /// How many.
        refused: u64,
        /// Of how many.
        sent: u64,
        /// Id of the first.
        id: String,
        /// The server's words about it.
        reason: String,
    },
    /// The server has no room for more requests.
    #[error("{endpoint}: the server was too busy for documents {RETRIES} times in a row")]
    Busy {
        /// The URL.
        endpoint: String,
    },
}

impl From<HttpError> for UploadError {
    fn from(error: HttpError) -> Self {
        Self::Ask(error.into())
    }
}

impl UploadError {
    /// Returns how to fix it, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::Ask(AskError::Http(HttpError {
                kind: ErrorKind::Status { code: 403, .. },
                ..
            })) => "these credentials need the cluster privilege monitor, and for trimtab-*: \
                create_index, view_index_metadata, write (once, after an upgrade: manage)"
                .to_owned(),
            Self::Ask(error) => error.hint(),
            Self::TooOld { .. } => {
                "send the results to another cluster, such as the one for monitoring".to_owned()
            }
            Self::NotNow { .. } => "send the results again once the cluster is well, or to \
                another cluster"
                .to_owned(),
            Self::Refused { reason, .. } if reason.contains("block") => {
                "the index is closed for writing, often because a disk is nearly full".to_owned()
            }
            Self::Refused { .. } => {
                "see the server's words; an index of that name that trimtab did \
                not make is best deleted, and the results sent again"
                    .to_owned()
            }
            Self::Busy { .. } => "send the results again later: what is there stays".to_owned(),
        }
    }
}

/// Sends actions to a cluster, many in a request.
pub struct Upload<'a> {
    client: &'a Client,
    endpoint: &'a Endpoint,
    /// Waits before a repetition.
    pause: &'a dyn Fn(Duration),
    lines: String,
    sent: u64,
    refused: u64,
    first_refusal: Option<(String, String)>,
    uploaded: Uploaded,
}

impl<'a> Upload<'a> {
    /// Makes the indices that are missing, and gives those of an older version the newer mapping. `pause` waits.
    ///
    /// # Errors
    /// See [`UploadError`]; nothing is sent then.
    pub fn begin(
        client: &'a Client,
        endpoint: &'a Endpoint,
        indices: Indices<'_>,
        pause: &'a dyn Fn(Duration),
    ) -> Result<Self, UploadError> {
        let root = ask_root(client, endpoint)?;
        // OpenSearch 1 may call itself 7.10.2.
        if root.flavour == Flavour::Elasticsearch && root.version < ServerVersion::new(7, 0, 0) {
            return Err(UploadError::TooOld {
                endpoint: endpoint.to_string(),
                found: format!("{} {}", root.flavour.label(), root.version),
            });
        }
        let upload = Self {
            client,
            endpoint,
            pause,
            lines: String::new(),
            sent: 0,
            refused: 0,
            first_refusal: None,
            uploaded: Uploaded::default(),
        };
        upload.prepare(indices)?;
        Ok(upload)
    }

    fn prepare(&self, indices: Indices<'_>) -> Result<(), UploadError> {
        // A template that is no JSON is a fault of the build, which tests notice.
        let template: Value = serde_json::from_str(indices.template).unwrap_or_default();
        let template = &template["template"];
        let wanted = version(&template["mappings"]);
        let mut changes = Vec::new();
        for index in indices.names {
            match self.version_of(index)? {
                None => changes.push((index, Change::Create)),
                Some(found) if found < wanted => changes.push((index, Change::Extend)),
                Some(_) => {}
            }
        }
        let Some((first, _)) = changes.first() else {
            return Ok(());
        };
        // Before any of them: the first change is a task itself.
        if let Some(why) = trouble(&green::health(self.client, self.endpoint)?) {
            return Err(UploadError::NotNow {
                endpoint: self.endpoint.to_string(),
                index: (**first).to_owned(),
                why,
            });
        }
        for (index, change) in changes {
            self.change(index, change, template)?;
        }
        Ok(())
    }

    /// The version of an index' mapping; `None` if there is no such index.
    fn version_of(&self, index: &str) -> Result<Option<u64>, UploadError> {
        let path = format!("/{index}/_mapping?filter_path=*.mappings._meta");
        let answer = self.client.get(self.endpoint, &path)?;
        if answer.status == 404 {
            return Ok(None);
        }
        // An alias may stand for several.
        let found: HashMap<String, Value> = answer.success()?.json()?;
        let found = found.values().map(|index| version(&index["mappings"]));
        Ok(Some(found.min().unwrap_or_default()))
    }

    fn change(&self, index: &str, change: Change, template: &Value) -> Result<(), UploadError> {
        let (path, body) = match change {
            Change::Create => {
                let body =
                    json!({"settings": template["settings"], "mappings": template["mappings"]});
                (format!("/{index}"), body)
            }
            Change::Extend => (format!("/{index}/_mapping"), template["mappings"].clone()),
        };
        let answer = self.client.put_json(self.endpoint, &path, &body)?;
        // Somebody else was faster.
        let is_there = answer.status == 400
            && String::from_utf8_lossy(&answer.body).contains("resource_already_exists");
        if !is_there {
            answer.success()?;
        }
        Ok(())
    }

    /// Sends an action with its document, lines that end in a newline; perhaps later, with others.
    ///
    /// # Errors
    /// If a request fails. What the server refuses of it is returned by [`Self::finish`].
    pub fn push(&mut self, action: &str) -> Result<(), UploadError> {
        if !self.lines.is_empty() && self.lines.len() + action.len() > REQUEST_BYTES {
            self.flush()?;
        }
        self.lines.push_str(action);
        Ok(())
    }

    /// Sends what is left, and tells what became of all.
    ///
    /// # Errors
    /// If the request fails, or documents were refused.
    pub fn finish(mut self) -> Result<Uploaded, UploadError> {
        if !self.lines.is_empty() {
            self.flush()?;
        }
        match self.first_refusal {
            None => Ok(self.uploaded),
            Some((id, reason)) => Err(UploadError::Refused {
                endpoint: self.endpoint.to_string(),
                refused: self.refused,
                sent: self.sent,
                id,
                reason,
            }),
        }
    }

    fn flush(&mut self) -> Result<(), UploadError> {
        let answer = self.send()?;
        self.lines.clear();
        for item in answer.items.iter().flat_map(HashMap::values) {
            self.sent += 1;
            if let Some(error) = &item.error {
                self.refused += 1;
                self.first_refusal.get_or_insert_with(|| {
                    let reason = format!("{}: {}", error.kind, error.reason);
                    let id = item.id.as_deref().unwrap_or_default();
                    (shown(id.as_bytes()), shown(reason.as_bytes()))
                });
                continue;
            }
            let count = match item.result.as_deref() {
                Some("created") => &mut self.uploaded.created,
                Some("updated") => &mut self.uploaded.updated,
                Some("deleted") => &mut self.uploaded.deleted,
                _ => &mut self.uploaded.unchanged,
            };
            *count += 1;
        }
        Ok(())
    }

    /// Sends the lines until the server has room for all of them. Whole requests are repeated: the actions mean the
    /// same the second time, but what was created counts as unchanged then.
    fn send(&self) -> Result<BulkAnswer, UploadError> {
        let mut wait = RETRY_AFTER;
        for attempt in 0..=RETRIES {
            if attempt > 0 {
                (self.pause)(wait);
                wait *= 2;
            }
            let lines = self.lines.as_bytes();
            let response = self.client.post_lines(self.endpoint, BULK, lines)?;
            if response.status == 429 {
                continue;
            }
            let answer: BulkAnswer = response.success().and_then(|body: Response| body.json())?;
            let items = || answer.items.iter().flat_map(HashMap::values);
            if !items().any(|item| item.status == 429) {
                return Ok(answer);
            }
        }
        Err(UploadError::Busy {
            endpoint: self.endpoint.to_string(),
        })
    }
}

fn version(mappings: &Value) -> u64 {
    mappings["_meta"][VERSION].as_u64().unwrap_or_default()
}

/// What an index needs before documents are sent to it.
#[derive(Clone, Copy)]
enum Change {
    Create,
    Extend,
}

/// Why nothing should be asked of the master now.
fn trouble(health: &Health) -> Option<String> {
    if health.timed_out {
        return Some("has no master that answers in time".to_owned());
    }
    if health.status == Status::Red {
        return Some("is red".to_owned());
    }
    match health.number_of_pending_tasks {
        Some(0) => None,
        Some(tasks) => {
            let waiting = units::count(tasks, "task");
            Some(format!("has {waiting} waiting for its master"))
        }
        None => Some("does not say how many tasks wait for its master".to_owned()),
    }
}

#[derive(Deserialize)]
struct BulkAnswer {
    #[serde(default)]
    items: Vec<HashMap<String, Item>>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "_id")]
    id: Option<String>,
    #[serde(default)]
    status: u16,
    result: Option<String>,
    error: Option<ItemError>,
}

#[derive(Deserialize)]
struct ItemError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    reason: String,
}
