//! Names in documents.

use serde::Serialize;

/// Returns the name that a variant without fields has in documents.
pub(crate) fn in_documents(variant: &impl Serialize) -> String {
    let name = serde_json::json!(variant);
    name.as_str().unwrap_or_default().to_owned()
}
