//! The JSON form shared by all results. Fields may be added without a new schema version; unknown
//! values are null, never 0.

use facts::Skipped;
use jiff::Timestamp;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use units::escape::escape_json;

/// The result of a command.
pub trait Answer: Serialize + JsonSchema {
    /// Name and version of its schema: `trimtab.check/1`.
    const SCHEMA: &'static str;
    /// Title of its schema: `trimtab check`.
    const TITLE: &'static str;
    /// Its JSON Schema (2020-12) in its envelope, indented, with a trailing newline: what [`generated_schema`] makes. The
    /// program prints the text, and so carries no generator.
    const JSON_SCHEMA: &'static str;
}

/// Output of `--format json` of every command.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Envelope<T> {
    /// Name and version of the schema. Fields may be added under the same version.
    pub schema: &'static str,
    /// Version of trimtab.
    pub tool_version: String,
    /// When the document was created, RFC 3339 in UTC.
    pub generated_at: Timestamp,
    /// Source of the facts: `live`, `bundle FILE`, `directory DIR`, a file, a URL without
    /// credentials, `arguments`.
    pub source: String,
    /// The result.
    pub result: T,
    /// Skipped checks. Skipped does not mean passed.
    pub skipped: Vec<Skipped>,
    /// Warnings about this run.
    pub warnings: Vec<String>,
}

impl<T: Answer> Envelope<T> {
    /// Creates a result about `source` without skipped checks or warnings.
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

    /// Returns indented JSON with a trailing newline.
    ///
    /// # Panics
    /// If the result contains a map with non-string keys.
    pub fn json(&self) -> String {
        to_json(self)
    }
}

/// Returns indented JSON with a trailing newline, without control characters in the text (see
/// [`escape_json`]).
pub(crate) fn to_json(document: &impl Serialize) -> String {
    // serde_json only fails on maps with non-string keys and on failing writers; these documents
    // have neither.
    let text = serde_json::to_string_pretty(document).expect("string keys, written to memory");
    let mut text = escape_json(&text);
    text.push('\n');
    text
}

/// Makes [`Answer::JSON_SCHEMA`] from the types, as they are serialised.
///
/// # Panics
/// Never: a schema is already a JSON value.
pub fn generated_schema<T: Answer>() -> String {
    titled_schema::<Envelope<T>>(T::TITLE, T::SCHEMA)
}

/// Returns the schema of a document whose `schema` is `name`.
pub(crate) fn titled_schema<T: JsonSchema>(title: &str, name: &str) -> String {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    if let Some(property) = schema.pointer_mut("/properties/schema")
        && let Some(property) = property.as_object_mut()
    {
        property.insert("const".to_owned(), name.into());
    }
    serde_json::to_string_pretty(schema.as_value()).expect("written to memory") + "\n"
}
