//! Generators of documents.

use super::metricbeat::Metrics;
use super::types::GeneratorSpec;
use super::updates::Records;
use super::web_log::AccessLog;

/// Generates documents, one JSON object each, without line breaks. The same seed gives the same documents.
#[derive(Debug, Clone)]
pub struct Generator(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Metrics(Metrics),
    AccessLog(AccessLog),
    Records(Records),
}

impl Generator {
    /// Creates the generator of a valid track.
    pub fn new(spec: &GeneratorSpec, seed: u64) -> Self {
        Self(match spec {
            GeneratorSpec::Metricbeat(options) => Kind::Metrics(Metrics::new(options, seed)),
            GeneratorSpec::WebLog(options) => Kind::AccessLog(AccessLog::new(options, seed)),
            GeneratorSpec::Updates(options) => Kind::Records(Records::new(options, seed)),
        })
    }

    /// Appends the next document to `out`, and to `key` its key, if it has one.
    pub fn write(&mut self, out: &mut Vec<u8>, key: &mut Vec<u8>) {
        match &mut self.0 {
            Kind::Metrics(metrics) => metrics.write(out),
            Kind::AccessLog(log) => log.write(out),
            Kind::Records(records) => records.write(out, key),
        }
    }
}

impl GeneratorSpec {
    /// Whether its documents have keys.
    pub fn has_keys(&self) -> bool {
        matches!(self, Self::Updates(_))
    }
}
