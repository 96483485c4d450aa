//! The requests before and after the phases.

use super::answer::{Answer, Kind};
use super::connection::Connect as _;
use super::framing::Broken;
use super::head::{self, Frame};
use super::message::{Message, SecretBytes};
use super::network::Network;
use super::target::Target;
use crate::track::{Method, Request};
use std::time::Duration;

/// Sends a request on a connection of its own. The error says what happened.
pub(super) async fn send(
    request: &Request,
    network: &Network,
    target: &Target,
    timeout: Duration,
) -> Result<(), String> {
    let sent = tokio::time::timeout(timeout, exchange(request, network, target)).await;
    let late = |_| Err(format!("no answer within {}", units::duration(timeout)));
    sent.unwrap_or_else(late).map_err(|problem| {
        let (method, path) = (name(request.method), units::escape(&request.path));
        format!("{method} {path}: {problem}")
    })
}

async fn exchange(request: &Request, network: &Network, target: &Target) -> Result<(), String> {
    let mut connection = network.connect().await.map_err(|error| error.to_string())?;
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
