//! The steps before and after the phases: requests, or commands for MongoDB.

use super::answer::{Answer, Kind};
use super::connection::{Connect, Link};
use super::framing::Broken;
use super::head::{self, Frame};
use super::message::{Message, SecretBytes};
use super::target::Target;
use crate::track::{Method, Request, commands};
use std::time::Duration;

/// One of the steps before or after the phases.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'t> {
    Request(&'t Request),
    /// A command for MongoDB in extended JSON.
    Command {
        name: &'t str,
        text: &'t str,
    },
}

/// Steps of a track: its HTTP requests, then its commands, which are called `list`.
pub(super) fn steps<'t>(
    requests: &'t [Request],
    list: &'t str,
    commands: &'t [String],
) -> impl Iterator<Item = Step<'t>> {
    let command = move |text| Step::Command { name: list, text };
    let commands = commands.iter().map(String::as_str).map(command);
    requests.iter().map(Step::Request).chain(commands)
}

impl Step<'_> {
    /// What is shown while it is taken.
    pub(super) fn shown(&self) -> &str {
        match self {
            Self::Request(request) => &request.path,
            Self::Command { name, .. } => name,
        }
    }

    /// Takes it, on a connection of its own. The error says what happened.
    pub(super) async fn take<C: Connect>(
        self,
        connect: &C,
        target: &Target,
        timeout: Duration,
    ) -> Result<(), String> {
        let taken = async {
            match self {
                Self::Request(request) => send(connect, target, request).await,
                Self::Command { text, .. } => command(connect, text).await,
            }
        };
        let result = match tokio::time::timeout(timeout, taken).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {}", units::duration(timeout))),
        };
        result.map_err(|problem| match self {
            Self::Request(request) => {
                let (method, path) = (name(request.method), units::escape(&request.path));
                format!("{method} {path}: {problem}")
            }
            Self::Command { name, text } => {
                let text = units::escape(units::cut(text, 60).as_ref()).into_owned();
                format!("{name}: {text}: {problem}")
            }
        })
    }
}

async fn send<C: Connect>(connect: &C, target: &Target, request: &Request) -> Result<(), String> {
    let mut connection = connect.connect().await.map_err(|error| error.to_string())?;
    let front = message(target, request).ok_or("not a valid host or header")?;
    let message = Message {
        front: front.as_slice(),
        rest: &[],
    };
    let mut answer = Answer::new(Kind::Front);
    connection
        .exchange(message, &mut answer)
        .await
        .map_err(|Broken| match target.tls {
            Some(_) => "the connection ended before the answer, or the answer is not HTTP",
            None => {
                "the connection ended before the answer, or the answer is not HTTP: a server with TLS needs https://"
            }
        })?;
    let status = answer.status();
    if answer.is_success() || request.accept.contains(&status) {
        return Ok(());
    }
    let front = String::from_utf8_lossy(answer.front());
    let front = match &target.authorization {
        Some(secret) => secret.redacted(&front),
        None => front.into_owned(),
    };
    // Deleted already, or created already.
    let hint = if matches!(status, 400 | 404 | 409) {
        format!(" (`accept = [{status}]` in the track lets it pass)")
    } else {
        String::new()
    };
    Err(format!(
        "status {status}{hint}: {}",
        units::escape(units::cut(&front, 300).as_ref())
    ))
}

async fn command<C: Connect>(connect: &C, text: &str) -> Result<(), String> {
    let command = commands::encode(text.as_bytes())?;
    let mut connection = connect.connect().await.map_err(|error| error.to_string())?;
    let mut answer = Answer::new(Kind::Front);
    let message = Message {
        front: &command,
        rest: &[],
    };
    connection
        .exchange(message, &mut answer)
        .await
        .map_err(|Broken| "the connection ended before the answer")?;
    if answer.judge().0.is_none() {
        return Ok(());
    }
    let front = String::from_utf8_lossy(answer.front());
    Err(units::escape(units::cut(&front, 300).as_ref()).into_owned())
}

/// The name of a method.
fn name(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Put => "PUT",
        Method::Post => "POST",
        Method::Delete => "DELETE",
    }
}

fn message(target: &Target, request: &Request) -> Option<SecretBytes> {
    let content_type = request.body.as_ref().map(|_| "application/json");
    let frame = Frame::new(target, name(request.method), content_type)?;
    let mut out = SecretBytes::default();
    frame.begin(request.path.as_bytes(), &mut out);
    let body = request.body.as_deref().unwrap_or_default();
    let has_length = request.body.is_some() || matches!(request.method, Method::Put | Method::Post);
    head::end(has_length.then_some(body.len()), &mut out);
    out.push(body.as_bytes());
    Some(out)
}
