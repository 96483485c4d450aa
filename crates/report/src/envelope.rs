//! The one JSON form of every answer. Fields may be added without a new version of a schema; what is
//! unknown is null, never 0.

use facts::Skipped;
use jiff::Timestamp;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use units::escape::escape_json;

/// What a command found out.
pub trait Answer: Serialize + JsonSchema {
    /// Name and version of its schema: `trimtab.check/1`.
    const SCHEMA: &'static str;
    /// The title of its schema: `trimtab check`.
    const TITLE: &'static str;
}

/// What `--format json` prints of every command.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Envelope<T> {
    /// Name and version of the schema. Fields may be added under the same version.
    pub schema: &'static str,
    /// Version of trimtab.
    pub tool_version: String,
    /// When the document was made, RFC 3339 in UTC.
    pub generated_at: Timestamp,
    /// Where the facts came from: `live`, `bundle FILE`, `directory DIR`, a file, a URL without
    /// credentials, `arguments`.
    pub source: String,
    /// The answer.
    pub result: T,
    /// What was not looked at. Skipped is not passed.
    pub skipped: Vec<Skipped>,
    /// What the user should know of this run.
    pub warnings: Vec<String>,
}

impl<T: Answer> Envelope<T> {
    /// An answer about `source`, with nothing skipped and no warning.
    pub fn new(
        tool_version: impl Into<String>,
        generated_at: Timestamp,
        source: impl Into<String>,
        result: T,
    ) -> Self {
        Self {
            schema: T::SCHEMA,
            tool_version: tool_version.into(),
            generated_at,
            source: source.into(),
            result,
            skipped: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// As indented JSON, with a line break at its end.
    ///
    /// # Panics
    /// If the answer has a map whose keys are no strings.
    pub fn json(&self) -> String {
        to_json(self)
    }
}

/// Indented JSON without control characters in the text (see [`escape_json`]), with a line break at its end.
pub(crate) fn to_json(document: &impl Serialize) -> String {
    // Only maps with keys that are no strings and failing writers make serde_json fail; these documents
    // have neither.
    let text = serde_json::to_string_pretty(document).expect("string keys, written to memory");
    let mut text = escape_json(&text);
    text.push('\n');
    text
}

/// The JSON Schema (2020-12) of an answer in its envelope as it is serialised, indented, with a line break
/// at its end.
///
/// # Panics
/// Never: a schema is a JSON value already.
pub fn schema_of<T: Answer>() -> String {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<Envelope<T>>();
    schema.insert("title".to_owned(), T::TITLE.into());
    if let Some(name) = schema.pointer_mut("/properties/schema")
        && let Some(name) = name.as_object_mut()
    {
        name.insert("const".to_owned(), T::SCHEMA.into());
    }
    serde_json::to_string_pretty(schema.as_value()).expect("written to memory") + "\n"
}
