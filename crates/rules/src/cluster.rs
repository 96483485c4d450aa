//! Facts and building blocks of findings shared by rules about clusters.

mod context;
pub(crate) mod cost;
pub(crate) mod drives;
pub(crate) mod frames;
pub(crate) mod queue;
pub(crate) mod refresh;
pub(crate) mod remedies;

use crate::rule::Rule;
pub use context::{ClusterContext, FoundOnHost, NodeHost};
pub use cost::{RerouteCost, scan_cost};

use crate::finding;
use crate::outcome::Outcome;
use crate::shell::{self, printable};
use facts::cluster::{
    ClusterNode, ClusterSettings, Flavour, IndexSettings, ServerVersion, SettingOrigin,
};
use facts::{Evidence, Finding, Severity};

impl<'a> ClusterContext<'a> {
    /// Returns the server name and version: `Elasticsearch 7.4.0`.
    pub(crate) fn server(&self) -> String {
        format!(
            "{} {}",
            self.cluster.flavour.label(),
            printable(&self.cluster.version.to_string())
        )
    }

    /// Returns the master's version, if this is Elasticsearch.
    pub(crate) fn elasticsearch(&self) -> Option<&'a ServerVersion> {
        (self.cluster.flavour == Flavour::Elasticsearch).then_some(&self.cluster.version)
    }

    /// Whether this is Elasticsearch at this version or later. Pre-release builds count as the
    /// release.
    pub(crate) fn is_elasticsearch_from(&self, major: u32, minor: u32) -> bool {
        self.elasticsearch()
            .is_some_and(|version| (version.major, version.minor) >= (major, minor))
    }

    /// Whether the disk decider always says yes because there is only one data node: always before
    /// Elasticsearch 8.0 and in OpenSearch, unless configured otherwise.
    pub(crate) fn is_single_data_node_exempt(&self) -> bool {
        const KEY: &str = "cluster.routing.allocation.disk.watermark.enable_for_single_data_node";
        let is_enabled = self.setting_text(KEY).as_deref() == Some("true");
        self.cluster.nodes.is_some()
            && self.cluster.data_nodes().count() == 1
            && !self.is_elasticsearch_from(8, 0)
            && !is_enabled
    }

    /// Returns the node with a name.
    pub(crate) fn node_named(&self, name: &str) -> Option<&'a ClusterNode> {
        let mut nodes = self.cluster.nodes.iter().flatten();
        nodes.find(|node| node.name == name)
    }

    /// Returns the value of a cluster setting as text; `None` if it is not set, or not known.
    pub(crate) fn setting_text(&self, key: &str) -> Option<String> {
        self.cluster.settings.as_ref()?.text(key)
    }

    /// Returns the origin of a cluster setting; `None` if it is not set or not known.
    fn setting_origin(&self, key: &str) -> Option<SettingOrigin> {
        let setting = self.cluster.settings.as_ref()?.get(key)?;
        Some(setting.origin)
    }

    /// Whether a cluster setting comes from the configuration files of nodes.
    pub(crate) fn is_set_in_file(&self, key: &str) -> bool {
        matches!(
            self.setting_origin(key),
            Some(SettingOrigin::NodeFile | SettingOrigin::Default)
        )
    }

    /// Returns the data nodes of any tier, except those of the frozen one alone.
    pub(crate) fn nodes_with_shards(&self) -> impl Iterator<Item = &'a ClusterNode> {
        let is_data = |role: &&String| *role == "data" || role.starts_with("data_");
        self.cluster.data_nodes().filter(move |node| {
            let mut roles = node.roles.iter().filter(is_data).peekable();
            roles.peek().is_none() || roles.any(|role| role != "data_frozen")
        })
    }

    /// Returns the nodes, or records that the rule was skipped.
    pub(crate) fn nodes_or_skip(
        &self,
        rule: &Rule,
        out: &mut Outcome,
    ) -> Option<&'a [ClusterNode]> {
        let nodes = self.cluster.nodes.as_deref();
        self.or_skip(nodes, rule, "the nodes", "/_nodes", out)
    }

    /// Returns the cluster settings, or records that the rule was skipped.
    pub(crate) fn settings_or_skip(
        &self,
        rule: &Rule,
        out: &mut Outcome,
    ) -> Option<&'a ClusterSettings> {
        let settings = self.cluster.settings.as_ref();
        self.or_skip(settings, rule, "the settings", "/_cluster/settings", out)
    }

    /// Returns the index settings, or records that the rule was skipped.
    pub(crate) fn index_settings_or_skip(
        &self,
        rule: &Rule,
        out: &mut Outcome,
    ) -> Option<&'a IndexSettings> {
        let settings = self.cluster.index_settings.as_ref();
        self.or_skip(
            settings,
            rule,
            "the settings of indices",
            "/_all/_settings",
            out,
        )
    }

    /// Returns a fact, or records that the rule was skipped because the cluster did not report it.
    #[allow(clippy::unused_self)] // Reads as a question to the cluster.
    pub(crate) fn or_skip<T>(
        &self,
        fact: Option<T>,
        rule: &Rule,
        what: &str,
        path: &str,
        out: &mut Outcome,
    ) -> Option<T> {
        if fact.is_none() {
            let needs = format!("an answer to GET {path}");
            out.skip(
                rule.id,
                format!("the cluster did not report {what}"),
                Some(&needs),
            );
        }
        fact
    }

    /// Creates a finding about the whole cluster, without its explanation.
    pub(crate) fn about_cluster(
        &self,
        rule: &Rule,
        severity: Severity,
        title: impl Into<String>,
    ) -> Finding {
        let name = self.name();
        let mut finding = finding::about_host(rule, severity, &format!("cluster {name}"), title);
        finding.cluster = Some(name);
        finding.evidence.push(self.version_evidence());
        finding
    }

    /// Creates a finding about a setting, without its explanation. Findings of the same rule have
    /// different subjects, so that each can be distinguished and suppressed individually.
    pub(crate) fn about_setting(
        &self,
        rule: &Rule,
        severity: Severity,
        key: &str,
        title: impl Into<String>,
    ) -> Finding {
        let mut finding = self.about_cluster(rule, severity, title);
        finding.subject = format!("setting {}", printable(key));
        finding
    }

    /// Creates a finding about one node, without its explanation.
    pub(crate) fn about_node(
        &self,
        rule: &Rule,
        severity: Severity,
        node: &ClusterNode,
        title: impl Into<String>,
    ) -> Finding {
        let subject = format!("node {}", node.name);
        let mut finding = finding::about_host(rule, severity, &subject, title);
        finding.cluster = Some(self.name());
        finding
    }

    /// Returns the cluster's name, or its address if it did not report a name.
    fn name(&self) -> String {
        printable(
            self.cluster
                .name
                .as_deref()
                .unwrap_or(&self.cluster.endpoint),
        )
    }

    pub(crate) fn version_evidence(&self) -> Evidence {
        Evidence::new("GET /: version.number", self.cluster.version.to_string())
    }

    /// Describes the value of a cluster setting and its origin; `default_value` applies if it is
    /// not set.
    pub(crate) fn setting_evidence(&self, key: &str, default_value: &str) -> Evidence {
        let setting = self.cluster.settings.as_ref().and_then(|s| s.get(key));
        let value = match setting {
            Some(setting) => format!(
                "{} ({})",
                printable(&setting.value.text()),
                setting.origin.as_str()
            ),
            None => format!("{default_value} (not set)"),
        };
        Evidence::new(format!("GET /_cluster/settings: {}", printable(key)), value)
    }

    /// Returns the command that changes a cluster setting at its current origin; `value` is JSON.
    pub(crate) fn put_setting(&self, key: &str, value: &str) -> String {
        let scope = match self.setting_origin(key) {
            Some(SettingOrigin::Transient) => "transient",
            _ => "persistent",
        };
        self.put(
            "/_cluster/settings",
            &format!("{{\"{scope}\": {{\n  \"{key}\": {value}}}}}"),
        )
    }

    /// Returns the command that sends a request body: JSON built by the rule, which may be wrapped.
    pub(crate) fn put(&self, path: &str, body: &str) -> String {
        let url = format!("{}{path}", self.cluster.endpoint.trim_end_matches('/'));
        let body = if body.contains('\'') {
            shell::quote(body)
        } else {
            format!("'{body}'")
        };
        format!(
            "curl -X PUT {} \\\n  -H 'Content-Type: application/json' -d {body}",
            shell::quote(&url)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, data_node};
    use crate::test_host::TestHost;
    use facts::Host;

    fn named(name: &str) -> Host {
        TestHost::new()
            .with(|host| host.platform.host_name = Some(name.to_owned()))
            .build()
    }

    #[test]
    fn nodes_are_found_on_their_hosts() {
        let mut qualified = data_node("data-b");
        qualified.host = Some("es-2.example.org".to_owned());
        let mut by_address = data_node("data-c");
        by_address.host = Some("10.0.0.7".to_owned());
        let cluster = TestCluster::new()
            .nodes([data_node("es-1"), qualified, by_address])
            .build();
        let hosts = [named("ES-1"), named("es-2"), named("10"), named("es-1.x")];
        let hosts: Vec<&Host> = hosts.iter().collect();
        let context = ClusterContext::new(&cluster, &hosts);
        let found: Vec<Vec<&str>> = context
            .hosts
            .iter()
            .map(|host| host.nodes.iter().map(|node| node.name.as_str()).collect())
            .collect();
        assert_eq!(found, [vec!["es-1"], vec!["data-b"], vec![], vec!["es-1"]]);
    }

    #[test]
    fn a_host_counts_once() {
        let cluster = TestCluster::new().build();
        let (first, same, nameless) = (named("es-1"), named("es-1"), TestHost::new().build());
        let hosts = [&first, &same, &nameless, &nameless];
        assert_eq!(ClusterContext::new(&cluster, &hosts).hosts.len(), 2);
    }

    #[test]
    fn commands_quote_what_comes_from_outside() {
        let cluster = TestCluster::new()
            .with(|cluster| cluster.endpoint = "http://x/$(reboot)'".to_owned())
            .build();
        let context = ClusterContext::new(&cluster, &[]);
        assert_eq!(
            context.put_setting("a.b", "null"),
            "curl -X PUT 'http://x/$(reboot)'\\''/_cluster/settings' \\\n  \
             -H 'Content-Type: application/json' -d '{\"persistent\": {\n  \"a.b\": null}}'"
        );
    }
}
