//! Names in documents.

use serde::Serialize;

/// Returns the name that a variant without fields has in documents.
///
/// # Panics
/// If the variant has fields.
pub(crate) fn in_documents(variant: &impl Serialize) -> String {
    let name = serde_json::json!(variant);
    name.as_str().expect("a variant without fields").to_owned()
}
