//! The server and both engines side by side, for clusters that are written down.

use std::collections::BTreeMap;

use shards::engine::Engine;

use crate::answer::{Answer, differences};
use crate::driver::Driver;
use crate::ours::Ours;
use crate::spec::{At, Attached, ClusterSpec, CopySpec, Given, InfoSpec, NodeSpec, Step};

/// A data node.
pub fn node(id: &str, number: usize) -> NodeSpec {
    NodeSpec {
        id: id.to_owned(),
        name: id.to_owned(),
        host: format!("{id}.example"),
        address: format!("10.0.0.{number}"),
        port: 9300,
        attributes: BTreeMap::new(),
        data: true,
        master: true,
        version: "7.4.0".to_owned(),
    }
}

/// A primary on a node.
pub fn started(node: &str, id: u64) -> CopySpec {
    CopySpec {
        state: Given::Started,
        node: Some(node.to_owned()),
        to: None,
        id: Some(id),
        reason: "INDEX_CREATED",
        failures: 0,
        delayed: false,
    }
}

/// The server and both engines, which get the same input and must make the same decisions.
pub struct Sides<'a> {
    driver: &'a mut Driver,
    ours: [(&'static str, Ours); 2],
    /// What the server made of the last step.
    pub answer: Answer,
    clock: i64,
}

impl<'a> Sides<'a> {
    pub fn new(driver: &'a mut Driver, spec: &ClusterSpec) -> Self {
        let first = Attached::default();
        let answer = driver.cluster(spec, &first).expect("the server takes it");
        let ours = [
            ("scan", Engine::scan as fn() -> Engine),
            ("incremental", Engine::incremental),
        ]
        .map(|(name, engine)| (name, Ours::new(spec, &answer.order, &first, engine)));
        let mut sides = Self {
            driver,
            ours,
            answer,
            clock: 0,
        };
        sides.compare("as given");
        sides
    }

    fn compare(&mut self, when: &str) {
        for (engine, ours) in &mut self.ours {
            let found = differences(&self.answer, &ours.answer().expect("a table that holds"));
            assert!(found.is_empty(), "{engine} differs {when}: {found:#?}");
        }
    }

    /// Executes a step with this disk usage.
    pub fn step(&mut self, step: &Step, info: Option<InfoSpec>) {
        self.clock += 1_000_000_000;
        let with = Attached {
            info,
            clock: self.clock,
            ..Attached::default()
        };
        self.answer = self
            .driver
            .step(step, &with)
            .unwrap_or_else(|thrown| panic!("the server threw {}: {step:?}", thrown.error));
        for (engine, ours) in &mut self.ours {
            ours.step(step, &with, &self.answer.order)
                .unwrap_or_else(|error| panic!("{engine} refuses {step:?}: {error}"));
        }
        self.compare(&format!("after {step:?}"));
    }

    /// Completes all relocations.
    pub fn arrive(&mut self, info: Option<InfoSpec>) {
        let copies: Vec<At> = self
            .answer
            .copies()
            .filter(|copy| !copy.is_active())
            .map(|copy| (copy.index, copy.shard, copy.node))
            .collect();
        self.step(&Step::Start { copies }, info);
    }
}
