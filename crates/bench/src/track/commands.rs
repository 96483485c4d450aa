//! Commands for MongoDB, in BSON.

use super::documents::Generator;
use super::types::MongodbWrite;
use mongodb::bson::{DateTime, Document, RawArrayBuf, RawDocumentBuf, doc, rawdoc};

/// Reads a command in extended JSON (v2) and writes it in BSON. The error says what is wrong.
pub(crate) fn encode(text: &[u8]) -> Result<Vec<u8>, String> {
    let command: Document = serde_json::from_slice(text)
        .map_err(|error| format!("expected a command in extended JSON: {error}"))?;
    if command.is_empty() {
        return Err(
            "expected a command in extended JSON, found an empty document, which names none"
                .to_owned(),
        );
    }
    command.to_vec().map_err(|error| error.to_string())
}

/// Appends a command that writes the generator's next documents. One that has become longer than `room` lacks some of
/// them. The error says what is wrong.
///
/// `insert` and `update` are unordered, so that one refused document does not keep others from being written
/// (<https://www.mongodb.com/docs/manual/reference/command/update/>).
pub(super) fn append(
    write: &MongodbWrite,
    generator: &mut Generator,
    room: u64,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let (mut key, mut text) = (Vec::new(), Vec::new());
    let mut entries = RawArrayBuf::new();
    let mut len_bytes = 0;
    for _ in 0..write.documents.0 {
        key.clear();
        text.clear();
        generator.write(&mut text, &mut key);
        let mut entry = read(&text)?;
        if !key.is_empty() {
            let id = str::from_utf8(&key).map_err(|error| error.to_string())?;
            entry.insert("_id", id);
            entry = doc! { "q": { "_id": id }, "u": entry, "upsert": true };
        }
        let entry = RawDocumentBuf::try_from(entry).map_err(|error| error.to_string())?;
        len_bytes += entry.as_bytes().len() as u64;
        entries.push(entry);
        if len_bytes > room {
            break;
        }
    }
    let collection = write.collection.as_str();
    let command = if key.is_empty() {
        rawdoc! { "insert": collection, "documents": entries, "ordered": false }
    } else {
        rawdoc! { "update": collection, "updates": entries, "ordered": false }
    };
    out.extend_from_slice(command.as_bytes());
    Ok(())
}

/// A generated document; its time becomes a date.
fn read(text: &[u8]) -> Result<Document, String> {
    let mut document: Document = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if let Some(time) = document.get_mut("@timestamp")
        && let Some(date) = time
            .as_str()
            .and_then(|text| DateTime::parse_rfc3339_str(text).ok())
    {
        *time = date.into();
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Body, Source, Track};

    fn commands(generator: &str) -> Vec<Document> {
        let track: Track = format!(
            r#"
            name = "t"
            [generator.g]
            {generator}
            [operation.o]
            kind = "mongodb-write"
            generator = "g"
            collection = "c"
            documents = 3
            [[phase]]
            name = "p"
            load = [{{ operation = "o", clients = 1, count = 2 }}]
            "#
        )
        .parse()
        .unwrap();
        match Source::prepare(&track, "o", Some(2), 1 << 20).unwrap().body {
            Body::Ring(bodies) => bodies
                .iter()
                .map(|body| Document::from_reader(&body[..]).unwrap())
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn documents_without_keys_are_inserted_and_their_time_is_a_date() {
        let commands = commands("kind = \"metricbeat\"");
        assert_eq!(commands.len(), 2);
        for command in &commands {
            assert_eq!(command.keys().next().unwrap(), "insert");
            assert_eq!(command.get_str("insert").unwrap(), "c");
            assert!(!command.get_bool("ordered").unwrap());
            let documents = command.get_array("documents").unwrap();
            assert_eq!(documents.len(), 3);
            for document in documents {
                let document = document.as_document().unwrap();
                document.get_datetime("@timestamp").unwrap();
                let metricset = document.get_document("metricset").unwrap();
                assert!(!metricset.get_str("name").unwrap().is_empty());
            }
        }
        assert_ne!(commands[0], commands[1]);
    }

    #[test]
    fn documents_with_keys_replace_those_with_the_same() {
        let commands = commands("kind = \"updates\"\nkeys = 10");
        let updates = commands[0].get_array("updates").unwrap();
        assert_eq!(updates.len(), 3);
        for update in updates {
            let update = update.as_document().unwrap();
            assert!(update.get_bool("upsert").unwrap());
            let (wanted, document) = (update.get_document("q"), update.get_document("u"));
            assert_eq!(
                wanted.unwrap().get_str("_id").unwrap(),
                document.unwrap().get_str("_id").unwrap()
            );
        }
    }

    #[test]
    fn the_name_of_a_command_stays_first() {
        let text =
            br#"{"find":"c","filter":{"at":{"$gte":{"$date":{"$numberLong":"5"}}}},"batchSize":7}"#;
        let command = Document::from_reader(&encode(text).unwrap()[..]).unwrap();
        assert_eq!(
            command.keys().collect::<Vec<_>>(),
            ["find", "filter", "batchSize"]
        );
        let range = command
            .get_document("filter")
            .unwrap()
            .get_document("at")
            .unwrap();
        assert_eq!(
            range.get_datetime("$gte").unwrap(),
            &DateTime::from_millis(5)
        );
        for text in [&b"{}"[..], b"[]", b"{", b"\xff"] {
            assert!(encode(text).is_err());
        }
    }
}
