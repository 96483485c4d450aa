//! Connection hooks: addresses are cached, so that latencies do not include name lookups, and new
//! connections are counted, so that a failure of a kept one is known.
//!
//! ureq does not version these interfaces: they may change in its minor releases.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout, Transport};

/// How long a resolved address is cached.
const REMEMBERED: Duration = Duration::from_mins(1);

type Known = HashMap<String, (Instant, Vec<SocketAddr>)>;

/// Cache of addresses by `host:port`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Addresses(Arc<Mutex<Known>>);

impl Addresses {
    /// Clears the cache: a connection failed, so the host may have moved.
    pub(crate) fn forget(&self) {
        self.known().clear();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Panics cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves names, each at most once a minute.
#[derive(Debug)]
pub(crate) struct RememberingResolver {
    inner: DefaultResolver,
    addresses: Addresses,
}

impl RememberingResolver {
    pub(crate) fn new(addresses: Addresses) -> Self {
        Self {
            inner: DefaultResolver::default(),
            addresses,
        }
    }
}

impl Resolver for RememberingResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let key = uri.authority().map(ToString::to_string).unwrap_or_default();
        let mut found = self.empty();
        if let Some((since, addresses)) = self.addresses.known().get(&key)
            && since.elapsed() < REMEMBERED
        {
            for address in addresses {
                found.push(*address);
            }
            return Ok(found);
        }
        let found = self.inner.resolve(uri, config, timeout)?;
        let entry = (Instant::now(), found.iter().copied().collect());
        self.addresses.known().insert(key, entry);
        Ok(found)
    }
}

/// Number of connections opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionCount(Arc<AtomicU64>);

impl ConnectionCount {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<In: Transport> Connector<In> for ConnectionCount {
    type Out = In;

    fn connect(
        &self,
        _details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<In>, Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(chained)
    }
}
