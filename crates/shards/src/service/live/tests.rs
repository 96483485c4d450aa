use proptest::prelude::*;

use super::Live;
use crate::copy::{CopyState, ShardCopy};
use crate::engine::Engine;
use crate::engine::tests::clusters;
use crate::gateway::Stores;
use crate::model::{Cluster, Forecast, Index, IndexIndex, IndexSettings, IndexState, Node};
use crate::nodes::RoutingNodes;
use crate::service::{self, CopyId, FailedCopy, Outcome, Round};

/// An operation on the cluster.
#[derive(Clone, Debug)]
enum Step {
    Reroute {
        after_nanos: i64,
    },
    Start(Vec<prop::sample::Index>),
    StartAll,
    Create {
        shards: u32,
        replicas: u32,
        expands: bool,
    },
    Delete(prop::sample::Index),
    Close(prop::sample::Index),
    Fail(prop::sample::Index),
    Leave(prop::sample::Index),
    Join,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let any_of = any::<prop::sample::Index>;
    let step = prop_oneof![
        6 => (0..2_i64).prop_map(|after| Step::Reroute { after_nanos: after * 40_000_000_000 }),
        3 => prop::collection::vec(any_of(), 1..4).prop_map(Step::Start),
        4 => Just(Step::StartAll),
        3 => (1..6_u32, 0..3_u32, 0..8_u8).prop_map(|(shards, replicas, expands)| Step::Create {
            shards,
            replicas,
            expands: expands == 0,
        }),
        1 => any_of().prop_map(Step::Delete),
        1 => any_of().prop_map(Step::Close),
        1 => any_of().prop_map(Step::Fail),
        1 => any_of().prop_map(Step::Leave),
        1 => Just(Step::Join),
    ];
    prop::collection::vec(step, 1..24)
}

/// The stateless functions with the scanning engine, alongside the [`Live`] cluster.
struct Both {
    plain: Cluster,
    live: Option<Live>,
    stores: Stores,
    now_nanos: i64,
}

impl Both {
    fn new(cluster: Cluster) -> Self {
        let live = Live::new(cluster).unwrap();
        let plain = live.cluster().clone();
        let stores = Stores::of(&plain);
        Self {
            plain,
            live: Some(live),
            stores,
            now_nanos: 0,
        }
    }

    fn live(&mut self) -> &mut Live {
        self.live.as_mut().unwrap()
    }

    /// Recovering copies, as the nodes would report them.
    fn recovering(&self) -> Vec<CopyId> {
        let copies = self.plain.routing.copies();
        let targets = copies.filter_map(|copy| match copy.state {
            CopyState::Initializing => Some(*copy),
            CopyState::Relocating => Some(copy.relocation_target()),
            _ => None,
        });
        targets
            .map(|copy| CopyId {
                shard: copy.shard,
                allocation: copy.allocation.unwrap(),
            })
            .collect()
    }

    fn start(&mut self, copies: &[CopyId]) {
        let plain = service::start(&mut self.plain, copies).unwrap();
        let live = if copies.is_empty() {
            Outcome::default()
        } else {
            self.live().start(copies).unwrap()
        };
        assert_eq!(plain, live);
    }

    fn edit(&mut self, change: impl Fn(&mut Cluster)) {
        change(&mut self.plain);
        let live = self.live.take().unwrap();
        self.live = Some(live.edit(&change).unwrap().0);
    }

    fn create(&mut self, shards: u32, replicas: u32, expands: bool) {
        let index = Index {
            name: format!("new-{}", self.plain.indices.len()),
            uuid: String::new(),
            shards,
            replicas,
            state: IndexState::Open,
            settings: IndexSettings {
                auto_expand_replicas: expands.then_some((0, 1)),
                ..IndexSettings::default()
            },
            in_sync: Vec::new(),
            resize_source: None,
            forecast: Forecast::default(),
        };
        let now = self.now_nanos;
        service::create_index(&mut self.plain, index.clone(), now);
        self.live().create_index(index, now).unwrap();
    }

    fn apply(&mut self, step: &Step) {
        let now = self.now_nanos;
        match step {
            Step::Reroute { after_nanos } => {
                self.now_nanos += after_nanos;
                let round = Round {
                    fetch: &self.stores,
                    now_nanos: self.now_nanos,
                    engine: Engine::scan,
                };
                let plain = service::reroute(&mut self.plain, &round).unwrap();
                let live = self.live.as_mut().unwrap();
                assert_eq!(plain, live.reroute(&self.stores, self.now_nanos).unwrap());
            }
            Step::StartAll => self.start(&self.recovering()),
            Step::Start(which) => {
                let recovering = self.recovering();
                if !recovering.is_empty() {
                    let picked = which.iter().map(|which| *which.get(&recovering));
                    let mut some: Vec<CopyId> = picked.collect();
                    let mut seen = std::collections::HashSet::new();
                    some.retain(|copy| seen.insert(*copy));
                    self.start(&some);
                }
            }
            Step::Create {
                shards,
                replicas,
                expands,
            } => self.create(*shards, *replicas, *expands),
            Step::Delete(which) => {
                if let Some(index) = self.existing(*which) {
                    service::delete_index(&mut self.plain, index);
                    self.live().delete_index(index).unwrap();
                }
            }
            Step::Close(which) => {
                if let Some(index) = self.existing(*which) {
                    self.edit(|cluster| service::close_index(cluster, index, now));
                }
            }
            Step::Fail(which) => {
                let copies = self.plain.routing.copies();
                let on_nodes: Vec<ShardCopy> =
                    copies.filter(|copy| copy.node.is_some()).copied().collect();
                if on_nodes.is_empty() {
                    return;
                }
                let copy = which.get(&on_nodes);
                let failed = FailedCopy {
                    copy: CopyId {
                        shard: copy.shard,
                        allocation: copy.allocation.unwrap(),
                    },
                    mark_stale: false,
                };
                let stores = self.stores.clone();
                self.edit(|cluster| {
                    let round = Round {
                        fetch: &stores,
                        now_nanos: now,
                        engine: Engine::scan,
                    };
                    service::fail(cluster, &[failed], &[], &round).unwrap();
                });
            }
            Step::Leave(_) if self.plain.data_nodes.is_empty() => {}
            Step::Leave(which) => {
                let at = which.get(&self.plain.data_nodes).at();
                self.change_nodes(|cluster| cluster.nodes[at].present = false);
            }
            Step::Join => self.change_nodes(|cluster| {
                let away = cluster.nodes.iter().position(|node| !node.present);
                let at = away.unwrap_or_else(|| {
                    let node = Node {
                        id: format!("joined-{}", cluster.nodes.len()),
                        ..cluster.nodes[0].clone()
                    };
                    cluster.nodes.push(node);
                    cluster.nodes.len() - 1
                });
                cluster.nodes[at].present = true;
            }),
        }
        self.stores.observe(&self.plain);
    }

    fn change_nodes(&mut self, change: impl Fn(&mut Cluster)) {
        let (stores, now_nanos) = (self.stores.clone(), self.now_nanos);
        self.edit(|cluster| {
            change(cluster);
            cluster.settle_nodes();
            let round = Round {
                fetch: &stores,
                now_nanos,
                engine: Engine::scan,
            };
            service::nodes_changed(cluster, false, &round).unwrap();
        });
    }

    fn existing(&self, which: prop::sample::Index) -> Option<IndexIndex> {
        let tables = self.plain.routing.tables();
        (!tables.is_empty()).then(|| which.get(tables).index)
    }

    fn agree(&mut self) {
        let live = self.live.as_mut().unwrap();
        let (ours, plain) = (live.cluster(), &self.plain);
        let tables = |cluster: &Cluster| cluster.routing.tables().to_vec();
        for (ours, plain) in tables(ours).into_iter().zip(tables(plain)) {
            assert_eq!(ours, plain);
        }
        assert_eq!(ours.routing.tables().len(), plain.routing.tables().len());
        for table in ours.routing.tables() {
            assert_eq!(ours.routing.table(table.index), Some(table));
        }
        assert_eq!(ours.indices, plain.indices);
        assert_eq!(ours.next_allocation, plain.next_allocation);
        // The kept state equals a rebuilt one.
        let fresh = RoutingNodes::new(plain).unwrap();
        let mut kept = live.nodes.clone();
        kept.order_unassigned(plain);
        kept.put_in_order(plain);
        assert_eq!(kept.dump(), fresh.dump());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// After every step, the kept state leads to the same decisions as stateless rounds that scan all
    /// copies.
    #[test]
    fn a_live_cluster_makes_the_same_decisions(
        builder in clusters(), room in any::<bool>(), steps in steps(),
    ) {
        let mut builder = builder;
        if room {
            // Otherwise there would be little to prove.
            builder.disks(&[Some(500); 6]);
            builder.cluster.settings.awareness_attributes.clear();
            builder.cluster.settings.total_shards_per_node = -1;
            for index in &mut builder.cluster.indices {
                index.settings.total_shards_per_node = -1;
            }
        }
        let mut both = Both::new(builder.build());
        both.agree();
        for step in &steps {
            both.apply(step);
            both.agree();
        }
    }
}
