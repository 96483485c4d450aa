//! Ways out that several rules name.

use super::ClusterContext;
use crate::shell;
use facts::Remedy;

const THRESHOLD: &str = "cluster.routing.allocation.balance.threshold";

/// Balances less exactly, unless that is set already.
pub(crate) fn threshold(cx: &ClusterContext<'_>, all: &mut Vec<Remedy>) {
    let set = cx.setting_text(THRESHOLD);
    if set.is_some_and(|text| text.parse::<f64>().is_ok_and(|threshold| threshold > 1.0)) {
        return;
    }
    all.push(
        Remedy::command(
            "Balance less exactly: moves that gain little are not looked for any more.",
            cx.put_setting(THRESHOLD, "3.0"),
        )
        .risk("Nodes may differ by a few shards.")
        .undo(cx.put_setting(THRESHOLD, "null")),
    );
}

/// Ends a computation of the desired balance that does not end.
pub(crate) fn desired_balance(cx: &ClusterContext<'_>, all: &mut Vec<Remedy>) {
    threshold(cx, all);
    if !cx.is_elasticsearch_from(8, 18) {
        all.push(Remedy::advice(
            "Upgrade to 8.18 or later: before, with many shards the computation may never come to its \
             end.",
        ));
    }
    let url = format!(
        "{}/_internal/desired_balance",
        cx.cluster.endpoint.trim_end_matches('/')
    );
    all.push(
        Remedy::command(
            "If it does not end (the master's log says \"not converged\"), start it afresh from where \
             the shards are now.",
            format!("curl -X DELETE {}", shell::quote(&url)),
        )
        .risk("Moves that were planned are planned anew."),
    );
}
