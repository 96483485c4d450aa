//! Sends the requests before and after the phases.

use super::answer::{Answer, Kind};
use super::connection::{Connect, Link};
use super::framing::Broken;
use super::head::{self, Frame};
use super::message::{Message, SecretBytes};
use super::target::Target;
use crate::track::{Method, Request};
use std::time::Duration;

/// Sends one request on a connection of its own. The error says what happened.
pub(super) async fn send<C: Connect>(
    connect: &C,
    target: &Target,
    request: &Request,
    timeout: Duration,
) -> Result<(), String> {
    let shown = format!("{} {}", name(request.method), units::escape(&request.path));
    let exchange = async {
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
                    "the connection ended before the answer, or the answer is not HTTP: a server with TLS needs \
                     https://"
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
        Err(format!(
            "status {status}: {}",
            units::escape(units::cut(&front, 300).as_ref())
        ))
    };
    match tokio::time::timeout(timeout, exchange).await {
        Ok(result) => result.map_err(|problem: String| format!("{shown}: {problem}")),
        Err(_) => Err(no_answer(&shown, timeout)),
    }
}

/// Sends MongoDB one command, which `name` is said of. The error says what happened.
#[cfg(feature = "mongodb")]
pub(super) async fn command<C: Connect>(
    connect: &C,
    name: &str,
    text: &str,
    timeout: Duration,
) -> Result<(), String> {
    let exchange = async {
        let command = crate::track::commands::encode(text.as_bytes())?;
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
        match answer.judge() {
            (None, _) => Ok(()),
            (Some(_), _) => Err(String::from_utf8_lossy(answer.front()).into_owned()),
        }
    };
    match tokio::time::timeout(timeout, exchange).await {
        Ok(result) => {
            result.map_err(|problem: String| format!("{name}: {}", units::escape(&problem)))
        }
        Err(_) => Err(no_answer(name, timeout)),
    }
}

/// Without its driver there is nothing to send.
#[cfg(not(feature = "mongodb"))]
#[allow(clippy::unused_async)]
pub(super) async fn command<C: Connect>(
    _: &C,
    name: &str,
    _: &str,
    _: Duration,
) -> Result<(), String> {
    Err(format!(
        "{name}: this build cannot send commands to MongoDB"
    ))
}

fn no_answer(shown: &str, timeout: Duration) -> String {
    format!("{shown}: no answer within {}", units::duration(timeout))
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
