//! Text renderings of `trimtab shards`.

use jiff::Timestamp;
use page::Terminal;
use report::Envelope;
use report::views::shards::{ShardsAnswer, page};
use shards::estimate::{ClusterSize, CostEstimate, Question};
use shards::explanation::{
    DeciderRow, DecisionRow, DesiredExplanation, Held, NodeGain, NodeRow, RerouteExplanation,
};
use shards::forecast::{AtDefaultRebalance, Crossed, Forecast, NodeStanding, Standing};
use shards::profile::Server;

fn envelope(result: ShardsAnswer, warnings: &[&str]) -> Envelope<ShardsAnswer> {
    let mut envelope = Envelope::new("0", Timestamp::UNIX_EPOCH, "file state.json", result);
    envelope.warnings = warnings.iter().map(|&warning| warning.to_owned()).collect();
    envelope
}

/// Renders the text for a terminal of 80 columns, and checks that it fits.
fn text(result: ShardsAnswer) -> String {
    let page = page(&envelope(result, &["Mind the gap."]), true);
    let text = page::terminal(&page, &Terminal::default());
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line:?} is too wide");
    }
    assert!(text.contains("Mind the gap."), "{text}");
    text
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(flat(text).contains(part), "{part:?} is not in:\n{text}");
    }
}

fn question(copies: u64) -> Question {
    Question {
        server: None,
        size: ClusterSize::Given {
            copies,
            closed_share: 0.9,
            indices: None,
            data_nodes: 10,
            disk_scan: true,
        },
        primaries: Some(5),
        replicas: 1,
        desired: None,
    }
}

fn cost(version: &str, copies: u64) -> CostEstimate {
    CostEstimate::of(&Question {
        server: Some(Server::parse(version).expect("a version")),
        ..question(copies)
    })
}

#[test]
fn cost_compares_all_versions_if_none_is_given() {
    let answer = CostEstimate::of(&Question {
        primaries: None,
        ..question(25_000)
    });
    let text = text(ShardsAnswer::Cost(Box::new(answer)));
    assert!(
        flat(&text).starts_with("A reroute takes the master about "),
        "{text}"
    );
    has(
        &text,
        &[
            "choose one with --version",
            "6.8: 5, later 1",
            "By version",
            "7.17 and later",
        ],
    );
    assert!(!text.contains("(this)"), "{text}");
}

#[test]
fn cost_begins_with_being_extrapolated() {
    let far = text_of_cost("7.4.0", 1_000_000);
    assert!(
        flat(&far).starts_with("Extrapolated, and perhaps far off: no more than 25,000 shards on"),
        "{far}"
    );
}

#[test]
fn cost_starts_with_the_answer_and_is_complete() {
    let text = text_of_cost("7.4.0", 25_000);
    assert!(
        text.starts_with("A reroute takes the master about "),
        "{text}"
    );
    has(
        &text,
        &[
            "Elasticsearch 7.4.0: 25,000 shards, 22,500 of them in closed indices, in 2,500 indices on 10 \
             data nodes",
            "closed indices stay in the routing table of this version (from 7.2 on)",
            "create an index 3 to 11",
            "close an index 5 to 21",
            "5 primary shards with 1 replica each",
            "all other changes of the cluster wait",
            "7.4 to 7.5 (this)",
            "with include_relocations: false",
            "7.17 and later",
            "processor time on the machine that measured 7.4.0",
            "shards in the cluster",
        ],
    );
    let old = text_of_cost("7.1.1", 25_000);
    has(
        &old,
        &["closed indices are not in the routing table of this version (before 7.2)"],
    );
    assert!(!text_of_cost("7.17.28", 25_000).contains("include_relocations"));
}

fn text_of_cost(version: &str, copies: u64) -> String {
    text(ShardsAnswer::Cost(Box::new(cost(version, copies))))
}

#[test]
fn cost_shows_how_it_grows() {
    let answer = envelope(ShardsAnswer::Cost(Box::new(cost("7.4.0", 25_000))), &[]);
    let html = page::html(&page(&answer, false));
    for part in [
        "<svg",
        "this cluster",
        "sizes that were measured",
        "7.17 and later",
    ] {
        assert!(html.contains(part), "{part:?}");
    }
    let markdown = page::markdown(&page(&answer, false));
    assert!(markdown.contains("| create an index |"), "{markdown}");
}

fn standing(unassigned: [u64; 2], used_percent: f64) -> Standing {
    Standing {
        server: "Elasticsearch 7.4.0".to_owned(),
        data_nodes: 2,
        routed_shards: 1_200,
        unassigned_primaries: unassigned[0],
        unassigned_replicas: unassigned[1],
        cannot_stay: 0,
        shards_per_node: Some([500, 700]),
        bytes_per_node: Some([1 << 30, 3 << 30]),
        disk_used_percent: Some([40.0, used_percent]),
        reroute_ms: 12.0,
        nodes: vec![NodeStanding {
            name: "node-<a>".to_owned(),
            shards: 500,
            bytes: 1 << 30,
            disk_used_percent: Some(40.0),
        }],
    }
}

fn forecast() -> Forecast {
    Forecast {
        changes: vec!["node node-3 removed".to_owned()],
        rounds: 2,
        quiet: true,
        circle_reroutes: None,
        converges: None,
        moved: 0,
        moves_needed: 0,
        at_default_rebalance: None,
        moved_bytes: 0,
        replicas_recovered: 3,
        replica_bytes: 3 << 30,
        primaries_recovered: 0,
        promoted: 7,
        of_unknown_size: 0,
        primaries_lost: 0,
        duration_s: Some([61.0, 119.0]),
        recovery_bytes_per_s: Some(40 << 20),
        not_understood: None,
        before: standing([0, 0], 80.0),
        after: standing([0, 0], 80.0),
        watermarks_crossed: Vec::new(),
        worse: false,
        warnings: Vec::new(),
    }
}

fn what_if(forecast: Forecast) -> String {
    text(ShardsAnswer::WhatIf(Box::new(forecast)))
}

#[test]
fn what_if_begins_with_what_is_lost() {
    let lost = what_if(Forecast {
        after: standing([16, 30], 80.0),
        primaries_lost: 16,
        worse: true,
        ..forecast()
    });
    assert!(
        lost.starts_with("Red: 16 primaries lost, 30 replicas unassigned. 7 replicas are promoted"),
        "{lost}"
    );
    let away = what_if(Forecast {
        after: standing([1, 0], 80.0),
        worse: true,
        ..forecast()
    });
    assert!(away.starts_with("Red: 1 primary unassigned."), "{away}");
    let same = what_if(Forecast {
        before: standing([0, 2], 80.0),
        after: standing([0, 2], 80.0),
        ..forecast()
    });
    assert!(
        same.starts_with("Yellow: 2 replicas unassigned, as before."),
        "{same}"
    );
    let fine = what_if(forecast());
    assert!(
        fine.starts_with("Green: every shard is on a node. 7 replicas"),
        "{fine}"
    );
    has(
        &fine,
        &[
            "- node node-3 removed",
            "7 replicas are promoted to primaries; 3 replicas recover from their primaries (3 GiB), in \
             about 1 min 10 s to 2 min (2 rounds).",
            "receives at 40 MiB each second (indices.recovery.max_bytes_per_sec)",
            "shards in the routing table 1,200 1,200",
            "data per node 1 GiB to 3 GiB",
            "fullest disk per node, used 40 % to 80 %",
            "a reroute takes the master 12 ms",
        ],
    );
    let yellow = what_if(Forecast {
        after: standing([0, 1], 80.0),
        worse: true,
        ..forecast()
    });
    has(&yellow, &["Yellow: 1 replica unassigned."]);
    let without_sizes = what_if(Forecast {
        duration_s: None,
        ..forecast()
    });
    has(&without_sizes, &["(3 GiB), in 2 rounds."]);
}

#[test]
fn what_if_says_how_many_moves_would_do() {
    let detour = what_if(Forecast {
        moved: 65,
        moved_bytes: 65 << 30,
        moves_needed: 27,
        ..forecast()
    });
    has(
        &detour,
        &["65 shards move from node to node (65 GiB; 27 would do), in about"],
    );
    let straight = what_if(Forecast {
        moved: 27,
        moves_needed: 27,
        ..forecast()
    });
    assert!(!straight.contains("would do"), "{straight}");
    let endless = what_if(Forecast {
        moved: 2_402,
        moves_needed: 27,
        quiet: false,
        circle_reroutes: Some(12),
        at_default_rebalance: Some(AtDefaultRebalance {
            set: 4,
            rounds: 20,
            quiet: true,
            moved: 37,
            moves_needed: 27,
        }),
        worse: true,
        ..forecast()
    });
    has(
        &endless,
        &[
            "shards move from node to node without end: every 12 reroutes they are where they were before; \
             27 moves would do.",
            "With cluster_concurrent_rebalance at its default of 2 instead of 4: 37 moves, in 20 rounds \
             (ES011: no restart).",
        ],
    );
}

#[test]
fn a_desired_balance_that_never_ends_is_told() {
    for (converges, said) in [(None, false), (Some(true), false), (Some(false), true)] {
        let text = flat(&what_if(Forecast {
            converges,
            ..forecast()
        }));
        assert_eq!(text.contains("never comes to its end"), said, "{text}");
    }
}

fn desired() -> DesiredExplanation {
    DesiredExplanation {
        told_by_server: true,
        converges: true,
        iterations: 3,
        assigned: 200,
        elsewhere: 30,
        moving: 4,
        next: 2,
        held: vec![Held {
            decider: Some("throttling"),
            decision: "THROTTLE",
            shards: 24,
            example: "2 recoveries are coming in".to_owned(),
        }],
        agrees: Some([97, 100]),
        rounds: 15,
        duration_s: Some([610.0, 700.0]),
        elsewhere_in_the_end: 0,
    }
}

/// A reroute that has nothing to do.
fn idle() -> RerouteExplanation {
    RerouteExplanation {
        server: "Elasticsearch 7.4.0".to_owned(),
        routed_shards: 7,
        data_nodes: 3,
        reroute_ms: 0.5,
        allocated: 0,
        moved: 0,
        rebalanced: 0,
        unassigned: 0,
        stuck: 0,
        new_primaries: 0,
        nodes: Vec::new(),
        desired: None,
        decisions: Vec::new(),
        left_out: 0,
        not_understood: None,
        from_disk: false,
    }
}

fn text_of_reroute(explanation: RerouteExplanation) -> String {
    text(ShardsAnswer::Reroute(Box::new(explanation)))
}

fn reroute(desired: DesiredExplanation) -> String {
    flat(&text_of_reroute(RerouteExplanation {
        server: "Elasticsearch 9.2.0".to_owned(),
        routed_shards: 200,
        rebalanced: 2,
        desired: Some(desired),
        ..idle()
    }))
}

#[test]
fn reroute_begins_with_shards_that_are_not_where_they_are_wanted() {
    let waits = reroute(desired());
    assert!(
        waits.starts_with(
            "30 of 200 shards (15 %) are not on a node where the desired balance has them; all will be, in 15 \
             rounds, about 11 min to 12 min. The next reroute moves 2 shards for balance."
        ),
        "{waits}"
    );
    for part in [
        "this model wants the same nodes for 97 of 100 shards",
        "4 are on their way",
        "2 move in the next reroute",
        "24 wait (throttling) 2 recoveries are coming in",
    ] {
        assert!(waits.contains(part), "{part:?} is not in {waits}");
    }
    let stuck = reroute(DesiredExplanation {
        elsewhere_in_the_end: 30,
        converges: false,
        ..desired()
    });
    assert!(
        stuck.contains("has them; nothing lets them go there."),
        "{stuck}"
    );
    assert!(stuck.contains("never comes to its end"), "{stuck}");
    let some = reroute(DesiredExplanation {
        elsewhere_in_the_end: 6,
        duration_s: None,
        ..desired()
    });
    assert!(
        some.contains("has them; 6 of them will not get there: all others in 15 rounds."),
        "{some}"
    );
    let none = reroute(DesiredExplanation {
        elsewhere: 0,
        moving: 0,
        next: 0,
        held: Vec::new(),
        ..desired()
    });
    assert!(
        none.starts_with("Every shard is on a node where it is wanted."),
        "{none}"
    );
}

#[test]
fn a_state_that_was_misread_is_told_first() {
    let text = what_if(Forecast {
        not_understood: Some("7 of 7 shards may not stay where they are".to_owned()),
        ..forecast()
    });
    assert!(
        flat(&text).starts_with("Not understood: 7 of 7 shards may not stay where they are."),
        "{text}"
    );
    assert!(!text.contains("Green"), "{text}");
}

#[test]
fn what_if_reports_full_disks_and_shards_that_cannot_stay() {
    let mut after = standing([0, 0], 92.0);
    after.cannot_stay = 1;
    let text = what_if(Forecast {
        after,
        worse: true,
        quiet: false,
        watermarks_crossed: vec![Crossed {
            node: "node-b".to_owned(),
            before: Some("below low"),
            after: "above high",
            before_used_percent: Some(80.0),
            after_used_percent: Some(92.25),
        }],
        ..forecast()
    });
    has(
        &text,
        &[
            "1 shard cannot stay where it is, and no node takes it",
            "node-b exceeds the high disk watermark",
            "(2 rounds); the cluster is not at rest yet.",
            "- node-b: below low (80 % used), then above high (92.2 % used)",
        ],
    );
}

#[test]
fn what_if_lists_nodes_on_a_page_only() {
    let answer = envelope(ShardsAnswer::WhatIf(Box::new(forecast())), &[]);
    let html = page::html(&page(&answer, false));
    assert!(html.contains("node-&lt;a&gt;"));
    for picture in ["Shards by node", "Data by node", "<svg"] {
        assert!(html.contains(picture), "{picture}");
    }
    assert!(!what_if(forecast()).contains("node-<a>"));
}

#[test]
fn reroute_lists_each_decision_with_the_deciders_results() {
    let decision = DecisionRow {
        index: "logs\u{202e}".to_owned(),
        shard: 2,
        primary: false,
        decision: "allocate",
        from: None,
        to: Some("node-a".to_owned()),
        why: "from its primary".to_owned(),
        nodes: (0..10)
            .map(|number| NodeRow {
                node: format!("node-{number}"),
                outcome: "worse_balance",
                weight: Some(0.25),
                deciders: vec![DeciderRow {
                    decider: Some("same_shard"),
                    decision: "NO",
                    explanation: Some("a copy is there".to_owned()),
                }],
            })
            .collect(),
    };
    let gain = |node: &str, shards, watermark, new_primaries: u64| NodeGain {
        node: node.to_owned(),
        shards,
        used_percent: Some(88.0),
        watermark,
        gets: new_primaries.min(4),
        new_primaries,
    };
    let explanation = RerouteExplanation {
        allocated: 1,
        moved: 1,
        rebalanced: 2,
        unassigned: 1,
        stuck: 2,
        new_primaries: 20,
        nodes: vec![
            gain("node-0", 5, None, 0),
            gain("node-1\u{202e}", 2, Some("low"), 18),
        ],
        decisions: vec![decision],
        left_out: 6,
        ..idle()
    };
    let text = text_of_reroute(explanation.clone());
    assert!(
        flat(&text).starts_with(
            "The next reroute puts 1 shard on a node, moves 1 shard that cannot stay where it is and moves \
             2 shards for balance. 1 shard stays unassigned. 2 shards must leave their nodes, but no other node \
             can take them now. node-1\\u{202e} gets 18 of 20 new primaries although it is above the low \
             watermark, because it has the fewest shards: empty primaries may go there up to the high one."
        ),
        "{text}"
    );
    has(
        &text,
        &[
            "Elasticsearch 7.4.0: 7 shards on 3 data nodes; a reroute takes the master about 500 us",
            "[logs\\u{202e}][2] replica goes to node-a: from its primary",
            "- node-0: worse balance, weight 0.25; NO same_shard: a copy is there",
            "2 more nodes (--format json shows all)",
            "6 more decisions not shown (--limit).",
        ],
    );
    // Who gets most comes first.
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("node-"))
        .collect();
    assert!(
        rows[0].starts_with("node-1") && rows[0].contains("88.0 %  low"),
        "{text}"
    );
    // A share like that of the others is nothing to tell.
    let mut even = explanation;
    even.nodes[1].new_primaries = 7;
    let even = text_of_reroute(even);
    assert!(!even.contains("although"), "{even}");
    let idle = text_of_reroute(RerouteExplanation {
        nodes: vec![gain("node-0", 5, Some("low"), 0)],
        ..idle()
    });
    assert!(
        idle.starts_with("The next reroute has nothing to do."),
        "{idle}"
    );
}
