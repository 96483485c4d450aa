//! Makes the requests of a load.

use super::head::{self, Frame};
use super::message::{Message, SecretBytes};
use super::target::Target;
use crate::track::{Body, Source};
use std::sync::Arc;

/// Makes requests. Each connection has its own copy, with its own buffers; prepared bodies are shared.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    shared: Arc<Shared>,
    values: Vec<Vec<u8>>,
    text: Vec<u8>,
    /// The prepared request, without a body that is one of many.
    front: SecretBytes,
    /// Which of the prepared bodies follows.
    body: usize,
}

#[derive(Debug)]
struct Shared {
    source: Source,
    /// What all heads have in common.
    frame: Frame,
    /// How much of a head is the same in each request; 0 if the path changes.
    fixed_bytes: usize,
}

impl Shared {
    /// Whether all requests are the same.
    fn is_constant(&self) -> bool {
        self.fixed_bytes > 0 && matches!(self.source.body, Body::None)
    }

    /// One of the prepared bodies; nothing if there are none.
    fn ring_body(&self, index: usize) -> &[u8] {
        match &self.source.body {
            Body::Ring(bodies) => bodies.get(index).map_or(&[], |body| &body[..]),
            Body::None | Body::Template(_) => &[],
        }
    }
}

impl Requests {
    /// Makes the requests of `source` to `target`; `None` if the target cannot stand in a request.
    pub(super) fn new(source: Source, target: &Target) -> Option<Self> {
        let content_type = match source.body {
            Body::None => None,
            Body::Ring(_) => Some("application/x-ndjson"),
            Body::Template(_) => Some("application/json"),
        };
        let method = if source.post { "POST" } else { "GET" };
        let frame = Frame::new(target, method, content_type)?;
        let mut front = SecretBytes::default();
        let mut fixed_bytes = 0;
        if source.path.is_plain() {
            let mut path = Vec::new();
            source.path.render(&[""; 0], &mut path);
            frame.begin(&path, &mut front);
            fixed_bytes = front.len();
        }
        let shared = Shared {
            source,
            frame,
            fixed_bytes,
        };
        if shared.is_constant() {
            head::end(None, &mut front);
        }
        Some(Self {
            shared: Arc::new(shared),
            values: Vec::new(),
            text: Vec::new(),
            front,
            body: 0,
        })
    }

    /// Makes request `sequence`, before it is to be sent.
    pub(super) fn prepare(&mut self, sequence: u64) {
        let shared = &*self.shared;
        if shared.is_constant() {
            return;
        }
        let source = &shared.source;
        if shared.fixed_bytes == 0 || matches!(source.body, Body::Template(_)) {
            source.drawer.draw(source.seed, sequence, &mut self.values);
        }
        if shared.fixed_bytes > 0 {
            self.front.truncate(shared.fixed_bytes);
        } else {
            self.text.clear();
            source.path.render(&self.values, &mut self.text);
            shared.frame.begin(&self.text, &mut self.front);
        }
        match &source.body {
            Body::None => head::end(None, &mut self.front),
            Body::Ring(bodies) => {
                let count = bodies.len().max(1) as u64;
                self.body = usize::try_from(sequence % count).unwrap_or(0);
                let len_bytes = shared.ring_body(self.body).len();
                head::end(Some(len_bytes), &mut self.front);
            }
            Body::Template(template) => {
                self.text.clear();
                template.render(&self.values, &mut self.text);
                head::end(Some(self.text.len()), &mut self.front);
                // In one piece with the head, which one write sends.
                self.front.push(&self.text);
            }
        }
    }

    /// The prepared request.
    pub(super) fn message(&self) -> Message<'_> {
        Message {
            front: self.front.as_slice(),
            rest: self.shared.ring_body(self.body),
        }
    }

    /// Length of the prepared request's body.
    pub(super) fn body_bytes(&self) -> u64 {
        match &self.shared.source.body {
            Body::None => 0,
            Body::Ring(_) => self.shared.ring_body(self.body).len() as u64,
            Body::Template(_) => self.text.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Track;
    use bounded_http::Secret;

    fn source(operation: &str) -> Source {
        let track: Track = format!(
            r#"
            name = "t"
            [generator.g]
            kind = "updates"
            keys = 1000
            [operation.o]
            {operation}
            [[phase]]
            name = "p"
            load = [{{ operation = "o", clients = 1, count = 3 }}]
            "#
        )
        .parse()
        .unwrap();
        Source::prepare(&track, "o", Some(3), 1 << 20).unwrap()
    }

    /// The requests of two connections that take turns, as texts.
    fn texts(operation: &str, target: &Target) -> Vec<String> {
        let mut first = Requests::new(source(operation), target).unwrap();
        let mut second = first.clone();
        (0..4)
            .map(|sequence| {
                let requests = if sequence % 2 == 0 {
                    &mut first
                } else {
                    &mut second
                };
                requests.prepare(sequence);
                let Message { front, rest } = requests.message();
                let text = String::from_utf8([front, rest].concat()).unwrap();
                let body = text.split_once("\r\n\r\n").unwrap().1;
                assert_eq!(requests.body_bytes(), body.len() as u64);
                text
            })
            .collect()
    }

    #[test]
    fn a_request_that_never_changes_is_made_once() {
        let mut target = Target::new("es1", 9200);
        target.path_prefix = "/base".to_owned();
        target.authorization = Some(Secret::new("ApiKey secret".to_owned()));
        let expected =
            "GET /base/i/_doc/1 HTTP/1.1\r\nhost: es1:9200\r\nauthorization: ApiKey secret\r\n\r\n";
        let operation = "kind = \"get\"\npath = \"/i/_doc/1\"";
        assert_eq!(texts(operation, &target), [expected; 4]);
        let requests = Requests::new(source(operation), &target).unwrap();
        assert!(!format!("{requests:?}").contains("secret"));
    }

    #[test]
    fn values_stand_in_path_and_body() {
        let target = Target::new("[::1]", 1);
        let operation = r#"
            kind = "search"
            index = "unused"
            path = "/{{index}}/_search"
            body = '{"q":"{{q}}"}'
            parameters.index = { kind = "choice", values = ["a b#ü"] }
            parameters.q = { kind = "choice", values = ["wide", "x"] }
            "#;
        let found = texts(operation, &target);
        for text in &found {
            let q = if text.contains("wide") { "wide" } else { "x" };
            let body = format!(r#"{{"q":"{q}"}}"#);
            let expected = format!(
                "POST /a%20b%23%C3%BC/_search HTTP/1.1\r\nhost: [::1]:1\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            assert_eq!(*text, expected);
        }
    }

    #[test]
    fn prepared_bodies_follow_in_turn() {
        let operation = "kind = \"bulk\"\ngenerator = \"g\"\nindex = \"i\"\ndocuments = 2";
        let bodies = match source(operation).body {
            Body::Ring(bodies) => bodies,
            other => panic!("{other:?}"),
        };
        assert_eq!(bodies.len(), 3);
        let found = texts(operation, &Target::new("es1", 9200));
        for (text, body) in found.iter().zip(bodies.iter().cycle()) {
            let (head, found) = text.split_once("\r\n\r\n").unwrap();
            assert_eq!(found.as_bytes(), &body[..]);
            let expected = format!(
                "HTTP/1.1\r\nhost: es1:9200\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}",
                body.len()
            );
            assert!(
                head.starts_with("POST /") && head.ends_with(&expected),
                "{head}"
            );
        }
    }

    #[test]
    fn what_cannot_stand_in_a_head_is_refused() {
        let operation = "kind = \"get\"\npath = \"/\"";
        for (host, prefix, authorization) in [
            ("es1\r\nx: y", "", None),
            ("es1", "/a b", None),
            ("es1", "", Some("Basic a\r\nx: y")),
        ] {
            let target = Target {
                path_prefix: prefix.to_owned(),
                authorization: authorization.map(|text| Secret::new(text.to_owned())),
                ..Target::new(host, 9200)
            };
            assert!(Requests::new(source(operation), &target).is_none());
        }
    }
}
