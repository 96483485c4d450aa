//! Page of `trimtab shards cost`: the master's time for reroutes and operations, on this and other
//! versions.

use crate::views::phrases::{milliseconds, range};
use page::chart::{Axis, Curve, Format, LineChart, Scale, Spans};
use page::{Block, Page, Section, Table};
use shards::cost::measured_range;
use shards::estimate::{Alternative, CostEstimate, GrowthPoint, VersionRow};

pub(super) fn page(answer: &CostEstimate) -> Page {
    let mut page = Page {
        about: about(answer),
        ..Page::new("trimtab shards cost", lead(answer))
    };
    page.extend(operations(answer));
    let index = match answer.primaries {
        Some(primaries) => format!("{} with", units::count(primaries, "primary shard")),
        None => "as many primary shards as the version creates by default (6.8: 5, later 1), with"
            .to_owned(),
    };
    page.push(Block::text(format!(
        "The index has {index} {} each. Times run until all copies have started: from the fewest reroutes \
         (shards that recover at once report at once) to the most (each shard reports alone). They add up \
         what the master computes, one step after the other; all other changes of the cluster wait \
         meanwhile.",
        units::count(answer.replicas, "replica"),
    )));
    if let Some(desired) = &answer.desired_balance {
        page.push(Block::text(format!(
            "This master has computed its desired balance {}, in {} each on average. That is a thread of its \
             own: no change waits for it, but for the shards of new indices, from 8.17 on for a second at most \
             (cluster.routing.allocation.desired_balance.max_balance_computation_time_during_index_creation), \
             before until it ends. The steps towards it take {} of the master's thread, as part of reroutes.",
            times(desired.computations),
            milliseconds(desired.computation_ms),
            if desired.reconciliation_ms < 0.5 {
                "less than a millisecond".to_owned()
            } else {
                milliseconds(desired.reconciliation_ms)
            }
        )));
    }
    let mut versions = Section::new(if answer.server.is_some() {
        "The same cluster on other versions"
    } else {
        "By version"
    });
    versions.push(version_table(answer));
    page.push(versions);
    let mut growth = Section::new("As the cluster grows");
    growth.push(chart(answer));
    page.push(growth);
    page.push(Block::text(format!(
        "Times are processor time on the machine that measured {}. Another machine is faster or slower, but \
         ratios stay the same: compare times with each other. The model was checked by predicting sizes \
         that it was not fitted to; \"accurate within\" is how far off the worst of them was.",
        answer.measured_version.as_deref().unwrap_or("them"),
    )));
    page
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        many => format!("{} times", units::grouped(many)),
    }
}

fn lead(answer: &CostEstimate) -> String {
    let beyond = if answer.extrapolated {
        let measured = measured_range();
        format!(
            "Extrapolated, and perhaps far off: no more than {} on {} were measured. ",
            units::count(measured.copies_max, "shard"),
            units::count(measured.nodes_max, "data node")
        )
    } else {
        String::new()
    };
    let Some(reroute) = &answer.reroute else {
        let rows = || answer.versions.iter();
        let by_time =
            |a: &&VersionRow, b: &&VersionRow| a.times.reroute_ms.total_cmp(&b.times.reroute_ms);
        let (Some(least), Some(most)) = (rows().min_by(by_time), rows().max_by(by_time)) else {
            return beyond;
        };
        return format!(
            "{beyond}A reroute takes the master about {} on {}, {} on {}; choose one with --version.",
            milliseconds(least.times.reroute_ms),
            least.versions,
            milliseconds(most.times.reroute_ms),
            most.versions
        );
    };
    let create = answer
        .operations
        .iter()
        .find(|row| row.operation == "create");
    let create = create.map_or(String::new(), |row| {
        format!(
            "; creating an index takes {}",
            range(&milliseconds(row.least.ms), &milliseconds(row.most.ms))
        )
    });
    format!(
        "{beyond}A reroute takes the master about {}{create}.",
        milliseconds(reroute.ms)
    )
}

fn about(answer: &CostEstimate) -> Vec<String> {
    let closed = match answer.closed_shards {
        0 => String::new(),
        closed => format!(", {} of them in closed indices", units::grouped(closed)),
    };
    let mut about = vec![format!(
        "{}: {}{closed}, in {} on {}",
        answer.server.as_deref().unwrap_or("Any version"),
        units::count(answer.shards, "shard"),
        units::count::counted(answer.indices, "index", "indices"),
        units::count(answer.data_nodes, "data node"),
    )];
    if answer.uneven_factor >= 1.05 {
        about.push(format!(
            "the nodes hold unequal numbers of shards: walking them, up to 7.5, takes {} times as long as \
             walking equal ones",
            units::number((answer.uneven_factor * 10.0).round() / 10.0)
        ));
    }
    if answer.closed_shards > 0 && answer.server.is_some() {
        about.push(if answer.routed_shards == answer.shards {
            "closed indices stay in the routing table of this version (from 7.2 on)".to_owned()
        } else {
            "closed indices are not in the routing table of this version (before 7.2)".to_owned()
        });
    }
    about
}

/// Formats the factor by which a prediction may be off, with two digits.
fn factor(held_back: f64) -> String {
    units::number::factor((held_back * 10.0).round() / 10.0)
}

/// The table of operations, if a version was asked for.
fn operations(answer: &CostEstimate) -> Option<Table> {
    let reroute = answer.reroute.as_ref()?;
    let mut table = Table::new(&["<step", "reroutes", "master's time", "accurate within"]);
    table.row([
        "reroute, nothing to do".to_owned(),
        "1".to_owned(),
        milliseconds(reroute.ms),
        factor(reroute.held_back_factor),
    ]);
    for row in &answer.operations {
        table.row([
            format!("{} an index", row.operation),
            range(
                &units::grouped(row.least.reroutes),
                &units::grouped(row.most.reroutes),
            ),
            range(&milliseconds(row.least.ms), &milliseconds(row.most.ms)),
            factor(row.held_back_factor),
        ]);
    }
    Some(table)
}

fn version_table(answer: &CostEstimate) -> Table {
    let mut table = Table::new(&[
        "<version",
        "shards routed",
        "a reroute",
        "accurate within",
        "creating the index",
    ]);
    let mut add = |name: &str, row: &VersionRow, times: &Alternative| {
        table.row([
            name.to_owned(),
            units::grouped(row.routed_shards),
            milliseconds(times.reroute_ms),
            factor(times.reroute_held_back_factor),
            range(
                &milliseconds(times.create_least_ms),
                &milliseconds(times.create_most_ms),
            ),
        ]);
    };
    for row in &answer.versions {
        let mark = if row.asked { " (this)" } else { "" };
        add(&format!("{}{mark}", row.versions), row, &row.times);
        if let Some(times) = answer.without_relocations.as_ref().filter(|_| row.asked) {
            add("with include_relocations: false", row, times);
        }
    }
    table
}

fn chart(answer: &CostEstimate) -> LineChart {
    #[allow(clippy::cast_precision_loss)] // three digits are shown
    let curve = |name: String, ms: fn(&GrowthPoint) -> Option<f64>| {
        let points = answer.growth.iter();
        Curve::line(
            name,
            points.filter_map(|point| Some((point.shards as f64, ms(point)? / 1e3))),
        )
    };
    let curves = [
        curve(
            answer.server.clone().unwrap_or("7.4 to 7.5".to_owned()),
            |point| Some(point.reroute_ms),
        ),
        curve("with include_relocations: false".to_owned(), |point| {
            point.without_relocations_ms
        }),
        curve("7.17 and later".to_owned(), |point| point.latest_ms),
    ];
    let measured = measured_range();
    #[allow(clippy::cast_precision_loss)]
    let (here, from, to) = (
        answer.shards as f64,
        measured.copies_min as f64,
        measured.copies_max as f64,
    );
    let mut marks = vec![Spans::new("this cluster", [(here, here)])];
    // The measured sizes are in routed shards.
    if answer.routed_shards == answer.shards {
        marks.push(Spans::new("sizes that were measured", [(from, to)]));
    }
    LineChart {
        title: "A reroute by the number of shards, with the same shards per index and share closed"
            .to_owned(),
        x: Axis::new("shards in the cluster", Scale::Count),
        y_label: "master's time".to_owned(),
        y_format: Format::Seconds,
        y_from: Some(0.0),
        curves: curves
            .into_iter()
            .filter(|curve| !curve.stretches.is_empty())
            .collect(),
        marks,
        ..LineChart::default()
    }
}
