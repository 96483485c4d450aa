//! Commands for MongoDB in a build without its driver: there are none.

use super::documents::Generator;
use super::types::MongodbWrite;

const ABSENT: &str =
    "this build cannot send commands to MongoDB: build it with `--features mongodb`";

/// Would write a command in BSON.
pub(crate) fn encode(_: &[u8]) -> Result<Vec<u8>, String> {
    Err(ABSENT.to_owned())
}

/// Would append a command that writes documents.
pub(super) fn append(
    _: &MongodbWrite,
    _: &mut Generator,
    _: u64,
    _: &mut Vec<u8>,
) -> Result<(), String> {
    Err(ABSENT.to_owned())
}
