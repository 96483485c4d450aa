use facts::host::{Mount, Store};
use facts::{Finding, Host, Skipped, Stack};
use jiff::Timestamp;

/// What a rule may look at: the facts, and views of them that several rules share.
pub struct Context<'a> {
    /// The host.
    pub host: &'a Host,
    /// "Now": the moment at which the facts were read.
    pub now: Timestamp,
    /// Mounts that sit on a block device, with their stack; bind mounts and subvolumes of the same
    /// filesystem stand once, at their first mount (or at the one a store's data lies on).
    pub volumes: Vec<Volume<'a>>,
}

/// A mounted filesystem on a block device.
pub struct Volume<'a> {
    /// The mount.
    pub mount: &'a Mount,
    /// The layers below.
    pub stack: Stack<'a>,
    /// Stores whose data lies on this filesystem, through any of its mounts.
    pub stores: Vec<&'a Store>,
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Findings.
    pub findings: Vec<Finding>,
    /// Rules, or parts of them, that could not be decided.
    pub skipped: Vec<Skipped>,
    /// Ids of the rules that ran.
    pub rules_run: Vec<&'static str>,
}

impl<'a> Context<'a> {
    /// Prepares the shared views.
    pub fn new(host: &'a Host) -> Self {
        let mut volumes: Vec<Volume<'a>> = Vec::new();
        for mount in &host.mounts {
            let Some(stack) = host.stack_of(mount) else {
                continue;
            };
            let stores: Vec<&Store> = host.stores_on(mount).collect();
            match volumes
                .iter_mut()
                .find(|known| known.stack.top().name == stack.top().name)
            {
                Some(known) => {
                    if known.stores.is_empty() && !stores.is_empty() {
                        known.mount = mount;
                    }
                    for store in stores {
                        if !known.stores.contains(&store) {
                            known.stores.push(store);
                        }
                    }
                }
                None => volumes.push(Volume {
                    mount,
                    stack,
                    stores,
                }),
            }
        }
        Self {
            host,
            now: host.read_at,
            volumes,
        }
    }
}
