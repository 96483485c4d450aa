//! A connection against a peer that does what no server should, in memory.

use super::answer::{Answer, Kind};
use super::connection::Connection;
use super::framing::{Broken, HEAD_BYTES_MAX};
use super::message::Message;
use std::future::poll_fn;
use std::task::Poll;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// Lets a client with a pipe of `room` bytes send two requests, as far as it can, and returns what came of them.
fn exchange_twice<F: Future>(
    room: usize,
    rest: &[u8],
    server: impl FnOnce(DuplexStream) -> F,
) -> Vec<Result<(u16, u64), Broken>> {
    let (client, peer) = duplex(room);
    block_on(async {
        let client = async {
            let mut connection = Connection::new(client);
            let mut answer = Answer::new(Kind::Plain);
            let message = Message {
                front: b"head",
                rest,
            };
            let mut results = Vec::new();
            while results.len() < 2 && connection.is_open() {
                let exchanged = connection.exchange(message, &mut answer).await;
                results.push(exchanged.map(|()| (answer.status(), answer.len_bytes)));
            }
            results
        };
        // The client decides when it is over.
        let server = async {
            server(peer).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            results = client => results,
            () = server => unreachable!(),
        }
    })
}

/// Reads a request and answers with these bytes, twice; then the connection ends.
async fn answer_with(mut peer: DuplexStream, bytes: &[u8], request_bytes: usize) {
    for _ in 0..2 {
        let mut request = vec![0; request_bytes];
        if peer.read_exact(&mut request).await.is_err() {
            return;
        }
        assert!(request.starts_with(b"head"));
        assert!(request[4..].iter().all(|byte| *byte == b'b'));
        // A client that has had enough is not the server's fault.
        let _ = peer.write_all(bytes).await;
    }
}

#[test]
fn requests_are_sent_whole_however_little_the_socket_takes() {
    let body = vec![b'b'; 100_000];
    for room in [1, 3, 1000, 1 << 20] {
        for rest in [&body[..0], &body[..1], &body[..5000]] {
            let results = exchange_twice(room, rest, |peer| {
                answer_with(peer, OK.as_bytes(), 4 + rest.len())
            });
            assert_eq!(results, [Ok((200, 2)); 2], "{room}, {}", rest.len());
        }
    }
}

#[test]
fn a_connection_is_used_again_only_if_both_sides_know_where_the_answer_ends() {
    for (answer, expected) in [
        (OK, Ok((200, 2))),
        (
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            Ok((200, 0)),
        ),
        // Something follows the answer.
        ("HTTP/1.1 204 No Content\r\n\r\nx", Ok((204, 0))),
        (
            "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx",
            Ok((200, 1)),
        ),
        ("no HTTP", Err(Broken)),
    ] {
        let results = exchange_twice(1 << 20, b"", |peer| answer_with(peer, answer.as_bytes(), 4));
        let times = if answer == OK { 2 } else { 1 };
        assert_eq!(results, vec![expected; times], "{answer}");
    }
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let answer = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(100_000));
    let results = exchange_twice(1 << 20, b"", |mut peer| async move {
        peer.write_all(answer.as_bytes()).await.unwrap();
    });
    assert_eq!(results, [Ok((200, 100_000))]);
}

#[test]
fn an_answer_before_the_request_was_read_counts_and_ends_the_connection() {
    // As of a server that refuses a body by its length.
    let early = "HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n";
    let body = vec![b'b'; 1 << 20];
    let results = exchange_twice(1000, &body, |mut peer| async move {
        peer.write_all(early.as_bytes()).await.unwrap();
        // It stays open, and reads nothing.
        std::future::pending::<()>().await;
    });
    assert_eq!(results, [Ok((413, 0))]);
}

#[test]
fn an_answer_that_a_server_gave_before_it_closed_is_read() {
    let early = "HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n";
    let body = vec![b'b'; 1 << 20];
    let results = exchange_twice(1000, &body, |mut peer| async move {
        peer.write_all(early.as_bytes()).await.unwrap();
    });
    assert_eq!(results, [Ok((413, 0))]);
}

#[test]
fn memory_is_bounded_whatever_is_sent() {
    // Each of these would go on for ever.
    let endless: [(&str, &[u8]); 4] = [
        ("", b"H"),
        ("HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            b"0",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
            b"a: b\r\n",
        ),
    ];
    for (front, more) in endless {
        let (client, mut peer) = duplex(1 << 12);
        block_on(async {
            let mut connection = Connection::new(client);
            let mut answer = Answer::new(Kind::Front);
            let message = Message {
                front: b"head",
                rest: b"",
            };
            let mut sent_bytes = front.len();
            let server = async {
                peer.write_all(front.as_bytes()).await.unwrap();
                loop {
                    peer.write_all(more).await.unwrap();
                    sent_bytes += more.len();
                }
            };
            tokio::select! {
                result = connection.exchange(message, &mut answer) => assert_eq!(result, Err(Broken)),
                () = server => {}
            }
            assert!(
                sent_bytes <= HEAD_BYTES_MAX + front.len() + (2 << 12),
                "{sent_bytes}"
            );
        });
    }
}

#[test]
fn an_idle_connection_notices_its_end() {
    let (client, peer) = duplex(100);
    block_on(async {
        let mut connection = Connection::new(client);
        let ended = poll_fn(|context| Poll::Ready(connection.poll_ended(context).is_ready()));
        assert!(!ended.await);
        assert!(connection.is_open());
        drop(peer);
        poll_fn(|context| connection.poll_ended(context)).await;
        assert!(!connection.is_open());
    });
}
