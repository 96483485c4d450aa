//! Sends the findings to a cluster's indices.

use crate::arguments::AccessArgs;
use crate::commands::access;
use crate::config::CheckConfig;
use crate::error::{CommandError, Kind};
use crate::progress::Draw;
use bounded_http::{Client, Endpoint};
use cluster::{Upload, UploadError, UploadIndices};
use report::CheckReport;
use report::bulk::{FINDINGS_INDEX, HOSTS_INDEX, INDEX_TEMPLATE};
use units::{count, grouped};

const OPTION: &str = "--to";

/// Where findings are sent. It is known before anything is read, so that a typing error costs nothing.
pub(super) struct Target {
    client: Client,
    endpoint: Endpoint,
}

impl Target {
    /// # Errors
    /// When the URL or the credentials are unusable.
    pub fn new(url: &str, flags: &AccessArgs, config: &CheckConfig) -> Result<Self, CommandError> {
        let endpoint = access::parse_endpoint(url, OPTION)?;
        let options = access::options(flags, config.into(), cluster::options)?;
        let client = access::client(options, &endpoint).map_err(|error| error.at(OPTION))?;
        Ok(Self { client, endpoint })
    }
}

/// Sends a report's findings, and says on standard error what became of them.
///
/// # Errors
/// When the server cannot be reached, is no such server, or refuses something.
pub(super) fn send(
    report: &CheckReport<'_>,
    Target { client, endpoint }: &Target,
    quiet: bool,
) -> Result<(), CommandError> {
    let indices = UploadIndices {
        names: &[FINDINGS_INDEX, HOSTS_INDEX],
        template: INDEX_TEMPLATE,
    };
    let mut draw = Draw::new(quiet);
    let mut sent = || {
        let pause = |time| std::thread::sleep(time);
        let mut upload = Upload::begin(client, endpoint, indices, &pause)?;
        let mut actions = 0_u64;
        report::bulk::actions(report, |action| {
            actions += 1;
            if actions.is_multiple_of(1000) {
                draw.show(&format!("{endpoint}: {} sent", count(actions, "action")));
            }
            upload.push(action)
        })?;
        upload.finish()
    };
    let uploaded = sent().map_err(refused);
    draw.clear();
    let uploaded = uploaded?;
    draw.say(&format!(
        "{endpoint}: {} created, {} updated, {} deleted, {} unchanged",
        count(uploaded.created, "document"),
        grouped(uploaded.updated),
        grouped(uploaded.deleted),
        grouped(uploaded.unchanged),
    ));
    Ok(())
}

fn refused(error: UploadError) -> CommandError {
    let hint = error.hint();
    let kind = match &error {
        UploadError::Ask(cluster::AskError::OtherServer { .. }) | UploadError::TooOld { .. } => {
            Kind::Input
        }
        _ => Kind::Environment,
    };
    CommandError::because(kind, error).at(OPTION).hint(hint)
}
