//! The output of `journalctl -o json`: one object a line (systemd.journal-fields(7)).

use super::Log;
use super::message::{Lines, Told, unit_subject};
use super::pair::{Pairs, UNTOLD};
use crate::run::Seen;
use facts::InputError;
use jiff::Timestamp;
use serde::Deserialize;
use std::borrow::Cow;

/// systemd's catalogue of messages (`sd-messages.h`).
const UNIT_STARTING: &str = "7d4958e842da4a758f6c1cdc7b36dcc5";
const UNIT_STARTED: &str = "39f53479d3a045ac8e11786248231fbf";
const UNIT_SUCCESS: &str = "7ad2d189f7e94e70a38c781354912448";
const UNIT_FAILURE_RESULT: &str = "d9b373ed55a64feb8242e02dbe79a49c";
const UNIT_FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";

const EXPECTED: &str = "an entry of `journalctl -o json` with __REALTIME_TIMESTAMP";

/// The fields that matter. A field is a string, or numbers where it is no text, or null where it
/// is too long, or an array where it comes more than once.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(rename = "__REALTIME_TIMESTAMP", borrow)]
    realtime_us: Field<'a>,
    #[serde(rename = "MESSAGE_ID", borrow, default)]
    message_id: Field<'a>,
    #[serde(rename = "MESSAGE", borrow, default)]
    message: Field<'a>,
    #[serde(rename = "UNIT", borrow, default)]
    unit: Field<'a>,
    #[serde(rename = "SYSLOG_IDENTIFIER", borrow, default)]
    identifier: Field<'a>,
    #[serde(rename = "_HOSTNAME", borrow, default)]
    host: Field<'a>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Field<'a> {
    #[serde(borrow)]
    Text(Cow<'a, str>),
    Other(serde::de::IgnoredAny),
}

impl Default for Field<'_> {
    fn default() -> Self {
        Self::Other(serde::de::IgnoredAny)
    }
}

impl Field<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other(_) => None,
        }
    }
}

pub(super) fn parse(source: &str, text: &str, mut lines: Lines<'_>) -> Result<Log, InputError> {
    let mut pairs = Pairs::new(source, Seen::Journal);
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        let entry = match serde_json::from_str::<Entry<'_>>(line) {
            Ok(entry) => entry,
            Err(error) => {
                pairs.unread(|| {
                    InputError::new(source, EXPECTED, UNTOLD)
                        .at_line(number)
                        .at_column(error.column().max(1))
                });
                continue;
            }
        };
        let at = entry
            .realtime_us
            .text()
            .and_then(|text| Timestamp::from_microsecond(text.parse().ok()?).ok());
        let Some(at) = at else {
            pairs.unread(|| InputError::new(source, EXPECTED, UNTOLD).at_line(number));
            continue;
        };
        if !pairs.take(at, number, entry.host.text(), entry.told(&mut lines)) {
            break;
        }
    }
    pairs.finish(EXPECTED)
}

impl Entry<'_> {
    fn told(&self, lines: &mut Lines<'_>) -> Option<Told> {
        if let (Some(id), Some(unit)) = (self.message_id.text(), self.unit.text()) {
            let subject = unit_subject(unit)?;
            return match id {
                UNIT_STARTING => Some(Told::Starts(subject)),
                UNIT_STARTED => Some(Told::Started(subject)),
                UNIT_SUCCESS | UNIT_FAILURE_RESULT | UNIT_FAILED => Some(Told::Ends(subject)),
                _ => None,
            };
        }
        let identifier = self.identifier.text()?;
        // Its own lines are told apart by their ids.
        if identifier == "systemd" {
            return None;
        }
        lines.told(identifier, self.message.text()?)
    }
}
