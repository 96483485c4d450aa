use proptest::prelude::*;

use super::Live;
use crate::copy::CopyState;
use crate::gateway::Stores;
use crate::model::{Cluster, Index, IndexIndex, Node, NodeIndex};
use crate::nodes::RoutingNodes;
use crate::service::{self, CopyId};
use crate::sums::tests::{clusters, make_room};

/// What happens to the cluster.
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
    Close(prop::sample::Index),
    Leave(prop::sample::Index),
    Join,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let any_of = any::<prop::sample::Index>;
    let step = prop_oneof![
        6 => (0..2_i64).prop_map(|after| Step::Reroute { after_nanos: after * 40_000_000_000 }),
        3 => prop::collection::vec(any_of(), 1..4).prop_map(Step::Start),
        4 => Just(Step::StartAll),
        2 => (1..6_u32, 0..3_u32, 0..8_u8).prop_map(|(shards, replicas, expands)| Step::Create {
            shards,
            replicas,
            expands: expands == 0,
        }),
        1 => any_of().prop_map(Step::Close),
        1 => any_of().prop_map(Step::Leave),
        1 => Just(Step::Join),
    ];
    prop::collection::vec(step, 1..24)
}

/// The functions that know nothing of the round before, alongside the [`Live`] cluster.
struct Both {
    plain: Cluster,
    live: Live,
    stores: Stores,
    now_nanos: i64,
}

impl Both {
    fn new(cluster: Cluster) -> Self {
        let live = Live::new(cluster).unwrap();
        let plain = live.cluster().clone();
        Self {
            stores: Stores::of(&plain),
            plain,
            live,
            now_nanos: 0,
        }
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
        if !copies.is_empty() {
            let plain = service::tests::start(&mut self.plain, copies).unwrap();
            assert_eq!(plain, self.live.start(copies).unwrap());
        }
    }

    /// Changes the cluster itself, which is then prepared anew.
    fn edit(&mut self, change: impl FnOnce(&mut Cluster)) {
        change(&mut self.plain);
        self.live = Live::new(self.plain.clone()).unwrap();
        self.plain = self.live.cluster().clone();
    }

    fn apply(&mut self, step: &Step) {
        let now = self.now_nanos;
        match step {
            Step::Reroute { after_nanos } => {
                self.now_nanos += after_nanos;
                let plain = service::reroute(&mut self.plain, &self.stores, self.now_nanos);
                let live = self.live.reroute(&self.stores, self.now_nanos);
                assert_eq!(plain.unwrap(), live.unwrap());
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
            } => {
                let name = format!("new-{}", self.plain.indices.len());
                let mut index = Index::new(name, *shards, *replicas);
                index.settings.auto_expand_replicas = expands.then_some((0, 1));
                self.edit(|cluster| {
                    service::create_index(cluster, index, now);
                });
            }
            Step::Close(which) => {
                let tables = self.plain.routing.tables();
                let indices: Vec<IndexIndex> = tables.iter().map(|table| table.index).collect();
                if !indices.is_empty() {
                    let index = *which.get(&indices);
                    self.edit(|cluster| service::close_index(cluster, index, now));
                }
            }
            Step::Leave(_) if self.plain.data_nodes.is_empty() => {}
            Step::Leave(which) => {
                let left = *which.get(&self.plain.data_nodes);
                self.edit(|cluster| {
                    cluster.nodes[left.at()].present = false;
                    cluster.data_nodes.retain(|node| *node != left);
                    service::nodes_changed(cluster, now).unwrap();
                });
            }
            Step::Join => self.edit(|cluster| {
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
                let node = NodeIndex(u32::try_from(at).unwrap());
                cluster.data_nodes.push(node);
            }),
        }
        self.stores.observe(&self.plain);
    }

    fn agree(&self) {
        let (ours, plain) = (self.live.cluster(), &self.plain);
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
        let mut kept = self.live.nodes.clone();
        kept.order_unassigned(plain);
        kept.put_in_order(plain);
        assert_eq!(kept.dump(), fresh.dump());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// After every step, the kept state leads to the same decisions as rounds that begin anew.
    #[test]
    fn a_live_cluster_makes_the_same_decisions(
        builder in clusters(), room in any::<bool>(), steps in steps(),
    ) {
        let mut builder = builder;
        if room {
            // Otherwise there would be little to prove.
            make_room(&mut builder);
        }
        let mut both = Both::new(builder.build());
        both.agree();
        for step in &steps {
            both.apply(step);
            both.agree();
        }
    }
}
