//! The objects of Kubernetes, as far as they are read.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A list of objects, or one.
#[derive(Debug, Deserialize)]
pub(super) struct Document(Map<String, Value>);

/// An object.
#[derive(Debug)]
pub(super) enum Item {
    Volume(Box<PersistentVolume>),
    Claim(Claim),
    CsiAddonsNode(CsiAddonsNode),
    CronJob(ReclaimSpaceCronJob),
    Recurring(RecurringJob),
    Other,
}

impl Document {
    /// The objects of a list; an object by itself is one.
    pub(super) fn items(self) -> Result<Vec<Item>, String> {
        let Self(mut document) = self;
        let kind = text(&document, "kind").to_owned();
        if kind == "Status" {
            return Err(format!(
                "expected a list, found an error of kubectl: {}",
                text(&document, "message")
            ));
        }
        if let Some(of) = kind.strip_suffix("List") {
            let items = match document.remove("items") {
                Some(Value::Array(items)) => items,
                None | Some(Value::Null) => Vec::new(),
                Some(_) => return Err(format!("expected items in a {kind}, found something else")),
            };
            let read = |(index, item): (usize, Value)| {
                let Value::Object(item) = item else {
                    return Err(format!("items[{index}]: expected an object"));
                };
                // Objects of a typed list do not name their kind.
                let own = text(&item, "kind");
                let kind = if own.is_empty() { of } else { own }.to_owned();
                let named = item.get("metadata").and_then(|of| of.get("name"));
                let name = named.and_then(Value::as_str).unwrap_or_default().to_owned();
                object(&kind, item)
                    .map_err(|error| format!("items[{index}], {kind} {name:?}: {error}"))
            };
            return items.into_iter().enumerate().map(read).collect();
        }
        if kind.is_empty() {
            return Err("expected objects of Kubernetes, found JSON without a kind".to_owned());
        }
        let item = object(&kind, document).map_err(|error| format!("a {kind}: {error}"))?;
        Ok(vec![item])
    }
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn object(kind: &str, object: Map<String, Value>) -> Result<Item, serde_json::Error> {
    let mut value = Value::Object(object);
    leave_out_nulls(&mut value);
    Ok(match kind {
        "PersistentVolume" => Item::Volume(serde_json::from_value(value)?),
        "PersistentVolumeClaim" => Item::Claim(serde_json::from_value(value)?),
        "CSIAddonsNode" => Item::CsiAddonsNode(serde_json::from_value(value)?),
        "ReclaimSpaceCronJob" => Item::CronJob(serde_json::from_value(value)?),
        "RecurringJob" => Item::Recurring(serde_json::from_value(value)?),
        _ => Item::Other,
    })
}

/// What is null is as if it were not there; `serde_json` bounds the depth.
fn leave_out_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(leave_out_nulls);
        }
        Value::Array(items) => {
            items.retain(|value| !value.is_null());
            items.iter_mut().for_each(leave_out_nulls);
        }
        _ => {}
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) deletion_timestamp: Option<String>,
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PersistentVolume {
    pub(super) metadata: Metadata,
    pub(super) spec: VolumeSpec,
    #[serde(default)]
    pub(super) status: VolumeStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct VolumeSpec {
    pub(super) claim_ref: Option<ClaimRef>,
    pub(super) volume_mode: String,
    pub(super) access_modes: Vec<String>,
    pub(super) mount_options: Vec<String>,
    pub(super) csi: Option<Csi>,
    pub(super) local: Option<Local>,
    pub(super) host_path: Option<Local>,
    pub(super) node_affinity: NodeAffinity,
    /// Other sources among it, such as `nfs`.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaimRef {
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Csi {
    pub(super) driver: String,
    pub(super) volume_handle: String,
    pub(super) read_only: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Local {
    pub(super) path: String,
    pub(super) fs_type: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct VolumeStatus {
    pub(super) phase: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeAffinity {
    required: NodeSelector,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeSelector {
    node_selector_terms: Vec<Term>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Term {
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl PersistentVolume {
    /// Namespace and claim; without one, its own name.
    pub(super) fn label(&self) -> String {
        let label = match &self.spec.claim_ref {
            Some(claim) => format!("{}/{}", claim.namespace, claim.name),
            None => self.metadata.name.clone(),
        };
        label.chars().filter(|char| !char.is_control()).collect()
    }

    /// `Bound`, `Released`, ..., or that it is being deleted.
    pub(super) fn phase(&self) -> &str {
        if self.metadata.deletion_timestamp.is_some() {
            "Terminating"
        } else {
            &self.status.phase
        }
    }

    /// The one node that has it.
    pub(super) fn node(&self) -> Option<&str> {
        let [term] = self
            .spec
            .node_affinity
            .required
            .node_selector_terms
            .as_slice()
        else {
            return None;
        };
        let names = term.match_expressions.iter().find_map(|expression| {
            let is_name = expression.key == "kubernetes.io/hostname" && expression.operator == "In";
            is_name.then_some(expression.values.as_slice())
        });
        match names {
            Some([name]) => Some(name),
            _ => None,
        }
    }
}

impl VolumeSpec {
    /// The key of a source that is neither CSI nor of a node.
    pub(super) fn other_source(&self) -> &str {
        let known = [
            "capacity",
            "persistentVolumeReclaimPolicy",
            "storageClassName",
            "volumeAttributesClassName",
        ];
        let mut rest = self.rest.iter();
        let is_source =
            |(key, value): &(&String, &Value)| value.is_object() && !known.contains(&key.as_str());
        rest.find(is_source)
            .map_or("an unknown source", |(key, _)| key.as_str())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Claim {
    pub(super) metadata: Metadata,
}

#[derive(Debug, Deserialize)]
pub(super) struct CsiAddonsNode {
    #[serde(default)]
    pub(super) spec: AddonsSpec,
    #[serde(default)]
    pub(super) status: AddonsStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AddonsSpec {
    pub(super) driver: AddonsDriver,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AddonsDriver {
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AddonsStatus {
    pub(super) capabilities: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReclaimSpaceCronJob {
    pub(super) metadata: Metadata,
    pub(super) spec: CronSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CronSpec {
    pub(super) schedule: String,
    pub(super) suspend: bool,
    pub(super) job_template: Template,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Template {
    pub(super) spec: JobSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JobSpec {
    pub(super) target: Target,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Target {
    pub(super) persistent_volume_claim: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RecurringJob {
    pub(super) metadata: Metadata,
    pub(super) spec: RecurringSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RecurringSpec {
    pub(super) task: String,
    pub(super) cron: String,
}
