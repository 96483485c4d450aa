//! Recognises the format of results by what a document holds.

use super::document::{FORMATS, parse};
use super::error::{ResultsError, input_error};
use super::race::Race;
use super::{hyperfine, oha, opensearch};
use crate::compare::Trial;

/// A format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// A folder of `trimtab bench run`.
    Trial,
    /// Rally's race.json.
    RallyRace,
    /// OpenSearch Benchmark's `test_run.json` or `test_execution.json`.
    OpenSearchBenchmark,
    /// hyperfine's export.
    Hyperfine,
    /// oha's JSON.
    Oha,
}

/// Reads results from memory; `name` names them in errors and becomes the trial's name.
///
/// # Errors
/// When the text is none of the formats, or not as its tool writes it, or holds no finished run.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<(Format, Trial), ResultsError> {
    let document = parse(name, bytes)?;
    if document.get("race-timestamp").is_some() {
        let race = Race::from_json(name, &document)?;
        return Ok((Format::RallyRace, race.trial(name)));
    }
    if opensearch::is_test_run(&document) {
        let trial = opensearch::read(name, &document)?;
        return Ok((Format::OpenSearchBenchmark, trial));
    }
    if hyperfine::is_export(&document) {
        return Ok((Format::Hyperfine, hyperfine::read(name, &document)?));
    }
    if oha::is_result(&document) {
        return Ok((Format::Oha, oha::read(name, &document)?));
    }
    let keys: Vec<&str> = document
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::keys)
        .map(String::as_str)
        .collect();
    let found = if keys.is_empty() {
        "an empty object".to_owned()
    } else {
        format!(
            "an object with {}",
            keys.iter().take(5).copied().collect::<Vec<_>>().join(", ")
        )
    };
    Err(input_error(name, FORMATS, &found).into())
}
