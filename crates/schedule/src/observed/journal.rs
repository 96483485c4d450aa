//! The output of `journalctl -o json`: one object per line (systemd.journal-fields(7)).

use super::Log;
use super::message::{LogEvent, MessageParser, unit_subject};
use super::pair::{REDACTED, RunPairer};
use crate::run::Seen;
use facts::InputError;
use jiff::Timestamp;
use serde::Deserialize;
use std::borrow::Cow;

/// Message IDs from systemd's catalog (`sd-messages.h`).
const UNIT_STARTING: &str = "7d4958e842da4a758f6c1cdc7b36dcc5";
const UNIT_STARTED: &str = "39f53479d3a045ac8e11786248231fbf";
const UNIT_SUCCESS: &str = "7ad2d189f7e94e70a38c781354912448";
const UNIT_FAILURE_RESULT: &str = "d9b373ed55a64feb8242e02dbe79a49c";
const UNIT_FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";

/// Whose entries count: cron, anacron and systemd write as root.
const ROOT: &str = "0";

const EXPECTED: &str = "an entry of `journalctl -o json` with __REALTIME_TIMESTAMP";

/// The relevant fields. A field is a string, an array of numbers if it is not text, null if it is
/// too long, or an array if it occurs more than once.
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
    /// The user of the process that wrote the entry, as the kernel knows it (systemd.journal-fields(7),
    /// trusted fields): every user may choose all the fields without an underscore.
    #[serde(rename = "_UID", borrow, default)]
    user: Field<'a>,
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

pub(super) fn parse(
    source: &str,
    text: &str,
    mut parser: MessageParser<'_>,
) -> Result<Log, InputError> {
    let mut pairs = RunPairer::new(source, Seen::Journal);
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        let entry = match serde_json::from_str::<Entry<'_>>(line) {
            Ok(entry) => entry,
            Err(error) => {
                pairs.count_unparsed(|| {
                    InputError::new(source, EXPECTED, REDACTED)
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
            pairs.count_unparsed(|| InputError::new(source, EXPECTED, REDACTED).at_line(number));
            continue;
        };
        let mut event = entry.event(&mut parser);
        match entry.user.text() {
            Some(user) if user != ROOT && event.is_some() => {
                pairs.count_of_users();
                event = None;
            }
            None if event.is_some() => pairs.allow_anybody(),
            _ => {}
        }
        if !pairs.push(at, number, entry.host.text(), event) {
            break;
        }
    }
    pairs.finish(EXPECTED)
}

impl Entry<'_> {
    fn event(&self, parser: &mut MessageParser<'_>) -> Option<LogEvent> {
        if let (Some(id), Some(unit)) = (self.message_id.text(), self.unit.text()) {
            let subject = unit_subject(unit)?;
            return match id {
                UNIT_STARTING => Some(LogEvent::Starts(subject)),
                UNIT_STARTED => Some(LogEvent::Started(subject)),
                UNIT_SUCCESS | UNIT_FAILURE_RESULT | UNIT_FAILED => Some(LogEvent::Ends(subject)),
                _ => None,
            };
        }
        let identifier = self.identifier.text()?;
        // systemd's own lines are identified by their message IDs.
        if identifier == "systemd" {
            return None;
        }
        parser.event(identifier, self.message.text()?)
    }
}
