//! A session with one server about one index: field lookup, time range and error messages.

use super::answer::{self, Bucket, FieldCaps, Search};
use super::query::{Group, Query, SplitValue};
use crate::server::Server;
use crate::{Limits, Reading, SourceError, identify};
use bounded_http::{Client, Endpoint, Response, shown};
use facts::Skipped;
use serde_json::{Value, json};

/// Maximum number of values of the field by which series are split.
const SPLIT_MAX: u32 = 1000;
/// Maximum number of similar names listed in an error.
const NEAR_MAX: usize = 5;
/// Maximum number of reasons of failed shards that are reported.
const WARNINGS_MAX: usize = 20;

/// A session with one server about one index.
pub(super) struct Session<'a> {
    client: &'a Client,
    endpoint: &'a Endpoint,
    index: &'a str,
    /// The name of the interval parameter of a date histogram.
    pub(super) interval: &'static str,
    pub(super) warnings: Vec<String>,
}

impl<'a> Session<'a> {
    pub(super) fn open(
        client: &'a Client,
        endpoint: &'a Endpoint,
        index: &'a str,
    ) -> Result<Self, SourceError> {
        let interval = match identify(client, endpoint)? {
            Server::Elasticsearch { version } if is_before_7_2(&version) => "interval",
            Server::Elasticsearch { .. } | Server::OpenSearch { .. } => "fixed_interval",
            other @ Server::Prometheus { .. } => {
                let reason = format!("this is {other}, neither Elasticsearch nor OpenSearch");
                return Err(SourceError::refused(endpoint.to_string(), reason));
            }
        };
        let session = Self {
            client,
            endpoint,
            index,
            interval,
            warnings: Vec::new(),
        };
        // Characters of index names and of patterns.
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*,+@".contains(&byte);
        if index.is_empty() || index.starts_with('_') || !index.bytes().all(known) {
            return Err(session.refused("name an index, or a pattern such as metricbeat-*"));
        }
        Ok(session)
    }

    pub(super) fn source_name(&self) -> String {
        format!("{} {}", self.endpoint, self.index)
    }

    pub(super) fn refused(&self, reason: &str) -> SourceError {
        SourceError::refused(self.source_name(), reason)
    }

    pub(super) fn too_much(&self, what: &str) -> SourceError {
        SourceError::too_much(self.source_name(), what)
    }

    /// Returns the response, or its error message as an error.
    fn checked(&self, response: Response) -> Result<Response, SourceError> {
        // 401 and 403 have a more helpful hint of their own.
        if (400..600).contains(&response.status)
            && !matches!(response.status, 401 | 403)
            && let Ok(body) = response.json::<Value>()
            && let Some(reason) = answer::reason(&body)
        {
            return Err(self.refused(&format!("status {}: {reason}", response.status)));
        }
        Ok(response.success()?)
    }

    pub(super) fn search(&mut self, body: &Value) -> Result<Search, SourceError> {
        // Missing or closed indices among several are ignored; if none matches, that is an error.
        let path = format!("/{}/_search?ignore_unavailable=true", self.index);
        let response = self.client.post_json(self.endpoint, &path, body)?;
        let answer: Search = self.checked(response)?.json()?;
        if answer.timed_out {
            return Err(self.refused("the search was not done in the server's own time limit"));
        }
        if answer.shards.failed > 0 {
            let failure = answer.shards.failures.first();
            let why = failure
                .and_then(|failure| failure.pointer("/reason/reason")?.as_str())
                .unwrap_or("no reason given");
            let warning = format!(
                "{} of {} shards failed, so values are incomplete: {}",
                answer.shards.failed,
                answer.shards.total,
                shown(why.as_bytes())
            );
            if self.warnings.len() < WARNINGS_MAX && !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(answer)
    }

    fn field_caps(&self, fields: &str) -> Result<FieldCaps, SourceError> {
        let path = format!(
            "/{}/_field_caps?ignore_unavailable=true&fields={fields}",
            self.index
        );
        let response = self.client.get(self.endpoint, &path)?;
        Ok(self.checked(response)?.json()?)
    }

    /// Checks all fields of a query; returns the time field.
    pub(super) fn fields(&self, query: &Query) -> Result<String, SourceError> {
        let named = query.time_field.as_deref();
        let wanted = [
            Some(query.field.as_str()),
            Some(named.unwrap_or("@timestamp")),
            query.split_by.as_deref(),
        ];
        for field in wanted.into_iter().flatten() {
            let known = |byte: u8| byte.is_ascii_graphic() && !b"&#?*,%+".contains(&byte);
            if field.is_empty() || !field.bytes().all(known) {
                let field = shown(field.as_bytes());
                return Err(self.refused(&format!("{field:?} is no name of a field")));
            }
        }
        let wanted: Vec<&str> = wanted.into_iter().flatten().collect();
        let mut caps = self.field_caps(&wanted.join(","))?;
        let time = named.unwrap_or("@timestamp");
        let complete = caps.is_number(&query.field)
            && caps.is_time(time)
            && query
                .split_by
                .as_deref()
                .is_none_or(|by| caps.is_grouping(by));
        if complete {
            return Ok(time.to_owned());
        }
        caps = self.field_caps("*")?;
        if !caps.is_number(&query.field) {
            return Err(self.no_field(&caps, &query.field, "number", FieldCaps::is_number));
        }
        if let Some(by) = &query.split_by
            && !caps.is_grouping(by)
        {
            let kind = "field that can be split by";
            return Err(self.no_field(&caps, by, kind, FieldCaps::is_grouping));
        }
        if caps.is_time(time) {
            return Ok(time.to_owned());
        }
        let all = caps.fields.keys().map(String::as_str);
        let dates: Vec<&str> = all.filter(|field| caps.is_time(field)).collect();
        match (named, dates.as_slice()) {
            (None, [only]) => Ok((*only).to_owned()),
            (None, []) => Err(self.refused("no field of these documents is a date")),
            (None, several) => {
                let several = several.iter().take(NEAR_MAX).copied().collect::<Vec<_>>();
                let reason = format!(
                    "several fields are dates: name one of {}",
                    several.join(", ")
                );
                Err(self.refused(&shown(reason.as_bytes())))
            }
            (Some(named), _) => Err(self.no_field(&caps, named, "date", FieldCaps::is_time)),
        }
    }

    /// Returns the error for an unusable field, listing similar usable ones.
    fn no_field(
        &self,
        caps: &FieldCaps,
        field: &str,
        kind: &str,
        fits: impl Fn(&FieldCaps, &str) -> bool,
    ) -> SourceError {
        let fault = match caps.fields.get(field) {
            None => "there is no field".to_owned(),
            Some(types) => {
                let types: Vec<&str> = types.keys().map(String::as_str).collect();
                format!("no {kind}, but {}:", types.join(", "))
            }
        };
        let names = caps.fields.keys().map(String::as_str);
        let near = similar_names(field, names.filter(|name| fits(caps, name)));
        let near = match near.as_slice() {
            [] if caps.fields.is_empty() => "no index fits the pattern, or it is empty".to_owned(),
            [] => format!("no {kind} is there"),
            some => format!("similar: {}", some.join(", ")),
        };
        self.refused(&shown(format!("{fault} {field}; {near}").as_bytes()))
    }

    /// Returns the times of the first and the last document, in milliseconds.
    pub(super) fn extent(
        &mut self,
        scope: &[Value],
        time_field: &str,
    ) -> Result<Option<(i64, i64)>, SourceError> {
        let body = json!({
            "size": 0,
            "query": {"bool": {"filter": scope}},
            "aggs": {
                "first": {"min": {"field": time_field}},
                "last": {"max": {"field": time_field}},
            },
        });
        let answer = self.search(&body)?;
        if !["first", "last"]
            .iter()
            .all(|name| answer.aggregations.contains_key(*name))
        {
            return Err(self.refused("the answer has not the times that were asked for"));
        }
        let value = |name: &str| {
            #[allow(clippy::cast_possible_truncation)]
            answer
                .aggregations
                .get(name)?
                .get("value")?
                .as_f64()
                // Years 0 to 9999.
                .filter(|value| (-6.3e13..2.6e14).contains(value))
                .map(|value| value as i64)
        };
        Ok(value("first").zip(value("last")))
    }

    /// Returns the values of a field with the most documents.
    pub(super) fn values(
        &mut self,
        scope: &[Value],
        field: &str,
        most: u32,
    ) -> Result<Vec<SplitValue>, SourceError> {
        let body = json!({
            "size": 0,
            "query": {"bool": {"filter": scope}},
            "aggs": {"values": {"terms": {"field": field, "size": most}}},
        });
        let answer = self.search(&body)?;
        let list = answer.aggregations.get("values").and_then(Bucket::list);
        let Some(list) = list else {
            return Err(self.refused("the answer has no buckets"));
        };
        let values = list.into_iter().map(|bucket| {
            let text = bucket.key_as_string.unwrap_or_else(|| match &bucket.key {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            // A boolean's key is 0 or 1, but queries accept only its text.
            let key = match bucket.key {
                Value::Number(_) => json!(text),
                key => key,
            };
            SplitValue {
                name: text,
                key,
                documents: bucket.doc_count,
            }
        });
        Ok(values.collect())
    }

    /// Returns the groups of the field by which series are split, most frequent first.
    pub(super) fn groups(
        &mut self,
        scope: &[Value],
        field: &str,
        query: &Query,
        limits: &Limits,
        reading: &mut Reading,
    ) -> Result<Vec<Group>, SourceError> {
        let most = query.split_max.clamp(1, SPLIT_MAX);
        let most = most
            .min(u32::try_from(limits.series_max).unwrap_or(most))
            .max(1);
        let mut list = self.values(scope, field, most + 1)?;
        if list.len() > most as usize {
            list.truncate(most as usize);
            let what = format!("further values of {field}");
            let why = format!("more than the {most} with the most documents");
            let needs = Some("a filter, or a higher limit");
            reading.skipped.push(Skipped::new(what, why, needs));
        }
        let groups = list.into_iter().map(|value| Group {
            name: Some(value.name),
            clause: json!({"term": {field: {"value": value.key}}}),
        });
        Ok(groups.collect())
    }
}

/// Returns whether a date histogram's parameter is still called `interval`; `fixed_interval` came with 7.2.
pub(super) fn is_before_7_2(version: &str) -> bool {
    let mut parts = version
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < (7, 2)
}

/// Returns the names most similar to a missing one: those that share its parts, most shared parts first.
fn similar_names<'a>(field: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = field.to_ascii_lowercase();
    let parts: Vec<&str> = lower
        .split(['.', '_', '-', '@'])
        .filter(|part| part.len() > 1)
        .collect();
    let mut ranked: Vec<(usize, &str)> = names
        .map(|name| {
            let lower = name.to_ascii_lowercase();
            let shared = parts.iter().filter(|part| lower.contains(**part)).count();
            (shared, name)
        })
        .collect();
    // If nothing is similar, the first few show what there is.
    ranked.sort_by_key(|(shared, name)| (std::cmp::Reverse(*shared), *name));
    let best = ranked.first().map_or(0, |(shared, _)| *shared);
    let alike = ranked
        .into_iter()
        .filter(|(shared, _)| best == 0 || *shared > 0);
    alike.take(NEAR_MAX).map(|(_, name)| name).collect()
}
