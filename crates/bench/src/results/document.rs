//! JSON documents under limits.

use super::error::{ResultsError, input_error};
use serde_json::Value;

/// What is read, for errors.
pub(crate) const FORMATS: &str = "race.json of Rally, test_run.json or test_execution.json of OpenSearch \
     Benchmark, or the JSON of hyperfine (--export-json) or oha (--output-format json)";

/// Most bytes of a file. Results of the tools that are read have less than 1 MiB, unless they hold the times of
/// very many runs. Parsed, a document takes up to 20 times as much memory.
pub(crate) const BYTES_MAX: usize = 16 << 20;

/// Parses a document, which must be an object. Nesting is limited to 128 levels by the parser.
pub(crate) fn parse(source_name: &str, bytes: &[u8]) -> Result<Value, ResultsError> {
    if bytes.len() > BYTES_MAX {
        return Err(too_long(source_name));
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let document: Value = serde_json::from_slice(text).map_err(|error| {
        // The parser's own words say what it expected.
        let found = if error.is_eof() {
            "the end of the file"
        } else if error.to_string().starts_with("recursion limit") {
            "more than 128 levels"
        } else {
            "text that is not JSON"
        };
        let mut failed = input_error(source_name, "JSON", found);
        if error.line() > 0 {
            failed = failed.at_line(error.line()).at_column(error.column());
        }
        failed
    })?;
    if document.is_object() {
        Ok(document)
    } else {
        Err(input_error(source_name, FORMATS, "JSON that is no object").into())
    }
}

/// The error for a file that is too long.
pub(crate) fn too_long(source_name: &str) -> ResultsError {
    let expected = format!("results of {} at most", units::bytes(BYTES_MAX as u64));
    input_error(source_name, expected, "a longer file").into()
}
