//! MongoDB's driver against a server that answers as a test wants.

use super::run::{Control, Options, RunError, run};
use super::{ErrorClass, Silent, Target, TrialSummary};
use crate::track::Track;
use mongodb::bson::{Document, doc};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Opcodes of the wire protocol: a query of before 3.6, with which a driver introduces itself, its answer, and
/// everything else.
const OP_QUERY: i32 = 2004;
const OP_REPLY: i32 = 1;
const OP_MSG: i32 = 2013;

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Reads a message, and returns its id, its opcode and the command in it.
fn read(stream: &mut TcpStream) -> io::Result<(i32, i32, Document)> {
    let mut head = [0; 16];
    stream.read_exact(&mut head)?;
    let len = usize::try_from(i32_at(&head, 0)).unwrap();
    let mut body = vec![0; len - head.len()];
    stream.read_exact(&mut body)?;
    let opcode = i32_at(&head, 12);
    let at = match opcode {
        // Flags, a name that ends with 0, two numbers.
        OP_QUERY => 4 + body[4..].iter().position(|byte| *byte == 0).unwrap() + 1 + 8,
        // Flags, and the kind of the section.
        _ => 5,
    };
    let command = Document::from_reader(&body[at..]).unwrap();
    Ok((i32_at(&head, 4), opcode, command))
}

fn write(stream: &mut TcpStream, to: (i32, i32), reply: &Document) -> io::Result<()> {
    let (id, opcode) = to;
    let (opcode, front): (i32, &[u8]) = match opcode {
        OP_QUERY => (
            OP_REPLY,
            &[8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
        ),
        _ => (OP_MSG, &[0; 5]),
    };
    let body = [front, &reply.to_vec().unwrap()].concat();
    let len = i32::try_from(16 + body.len()).unwrap();
    let mut message = Vec::new();
    for number in [len, 7, id, opcode] {
        message.extend_from_slice(&number.to_le_bytes());
    }
    message.extend_from_slice(&body);
    stream.write_all(&message)
}

/// What the server answers; `None` ends the connection.
fn answer(command: &Document) -> Option<Document> {
    let refused =
        |code: i32| doc! { "ok": 0.0, "code": code, "codeName": "X", "errmsg": "no {}\u{1b}" };
    let written = |list| i32::try_from(command.get_array(list).unwrap().len()).unwrap();
    Some(match command.keys().next().unwrap().as_str() {
        "hello" | "isMaster" | "ismaster" => doc! {
            "ok": 1.0, "helloOk": true, "isWritablePrimary": true, "ismaster": true, "minWireVersion": 0,
            "maxWireVersion": 21, "maxBsonObjectSize": 1 << 24, "maxMessageSizeBytes": 48_000_000,
            "maxWriteBatchSize": 100_000
        },
        "insert" => doc! { "ok": 1.0, "n": written("documents") },
        "update" => doc! {
            "ok": 1.0, "n": written("updates") - 1, "writeErrors": [{ "index": 0, "code": 11_000, "errmsg": "twice" }]
        },
        "find" => refused(13),
        "drop" => refused(26),
        "leave" => return None,
        "buildInfo" => doc! { "ok": 1.0, "version": "7.0.1" },
        "serverStatus" => doc! { "ok": 1.0, "pid": 42_i64 },
        _ => doc! { "ok": 1.0 },
    })
}

/// Starts a server, and returns the way to it.
fn target() -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                while let Ok((id, opcode, command)) = read(&mut stream) {
                    let Some(reply) = answer(&command) else {
                        return;
                    };
                    if write(&mut stream, (id, opcode), &reply).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let address = format!("mongodb://{address}/bench?directConnection=true");
    Target::mongodb(
        &address,
        &bounded_http::Options::default(),
        Duration::from_secs(20),
    )
    .unwrap()
}

fn drive(operation: &str, setup: &str) -> Result<TrialSummary, RunError> {
    let track: Track = format!(
        r#"
        name = "t"
        mongodb_setup = ['{setup}']
        [generator.metrics]
        kind = "metricbeat"
        [generator.accounts]
        kind = "updates"
        keys = 100
        [operation.o]
        {operation}
        [[phase]]
        name = "p"
        load = [{{ operation = "o", clients = 2, count = 20 }}]
        "#
    )
    .parse()
    .unwrap();
    let options = Options {
        threads: 2,
        timeout: Duration::from_secs(20),
        ..Options::default()
    };
    run(
        &track,
        &target(),
        &options,
        &Control::default(),
        &mut Silent,
        Vec::new(),
    )
}

fn write_of(generator: &str) -> String {
    format!(
        "kind = \"mongodb-write\"\ngenerator = \"{generator}\"\ncollection = \"c\"\ndocuments = 5"
    )
}

#[test]
fn documents_are_written_and_refused_ones_are_errors() {
    // A collection that is not there need not be dropped.
    let summary = drive(&write_of("metrics"), r#"{"drop":"c"}"#).unwrap();
    let class = &summary.phases[0].classes[0];
    assert_eq!((class.succeeded(), class.failed()), (20, 0));
    assert_eq!((class.documents_written, class.documents_failed), (100, 0));
    assert_eq!(class.latency.count(), 20);
    let summary = drive(&write_of("accounts"), r#"{"ping":1}"#).unwrap();
    let class = &summary.phases[0].classes[0];
    assert_eq!(class.errors[ErrorClass::BulkItems.index()], 20);
    assert_eq!((class.documents_written, class.documents_failed), (80, 20));
}

#[test]
fn refused_commands_and_lost_connections_are_errors_of_their_own() {
    for (command, error) in [
        (r#"{"find":"c","filter":{}}"#, ErrorClass::Command),
        (r#"{"leave":1}"#, ErrorClass::Closed),
    ] {
        let operation = format!("kind = \"mongodb-command\"\nbody = '{command}'");
        let summary = drive(&operation, r#"{"ping":1}"#).unwrap();
        let class = &summary.phases[0].classes[0];
        assert_eq!(
            class.errors[error.index()],
            20,
            "{command}: {:?}",
            class.errors
        );
    }
}

#[test]
fn a_refused_setup_ends_the_trial_and_is_told() {
    let error = drive(&write_of("metrics"), r#"{"find":"c"}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "setup: mongodb_setup: {\"find\":\"c\"}: no {}\\u{1b} (code 13)"
    );
}

#[test]
fn the_server_says_who_it_is() {
    let found = target()
        .ask_mongodb(Duration::from_secs(20))
        .unwrap()
        .unwrap();
    assert_eq!((found.version.as_str(), found.pid), ("7.0.1", Some(42)));
}

#[test]
fn odd_addresses_are_refused_and_repeat_no_password() {
    let timeout = Duration::from_secs(1);
    for address in [
        "mongodb://user:hunter2@localhost/x",
        "mongodb://localhost",
        "mongodb://localhost:0x/y",
        "mongodb+srv://localhost/x",
        "mongodb://",
        "mongodb:",
        "mongodb://%2Ftmp%2Fmongodb-27017.sock/x",
    ] {
        let error =
            Target::mongodb(address, &bounded_http::Options::default(), timeout).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let target = Target::mongodb(
        "mongodb://db1/x",
        &bounded_http::Options::default(),
        timeout,
    )
    .unwrap();
    assert_eq!(target.to_string(), "mongodb://db1:27017/x");
}

#[test]
fn a_track_goes_with_its_kind_of_server() {
    let track: Track = "name = \"t\"\n[operation.o]\nkind = \"mongodb-command\"\nbody = '{\"ping\":1}'\n\
                        [[phase]]\nname = \"p\"\nload = [{ operation = \"o\", clients = 1, count = 1 }]"
        .parse()
        .unwrap();
    let (options, control) = (Options::default(), Control::default());
    let http = Target::new("127.0.0.1", 1);
    let error = run(&track, &http, &options, &control, &mut Silent, Vec::new()).unwrap_err();
    assert!(matches!(error, RunError::Protocol { .. }), "{error}");
    let mixed = "name = \"t\"\nsetup = [{ method = \"GET\", path = \"/\" }]\n[operation.o]\nkind = \"mongodb-command\"\n\
                 body = '{\"ping\":1}'\n[[phase]]\nname = \"p\"\nload = [{ operation = \"o\", clients = 1, count = 1 }]";
    let error = mixed.parse::<Track>().unwrap_err().to_string();
    assert_eq!(
        error,
        "setup: this track sends commands to MongoDB: use mongodb_setup"
    );
}
