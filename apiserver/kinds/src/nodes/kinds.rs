//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use machinery::meta::text;

use super::{columns, labels, node, runtime_class};
use crate::columns::{AGE, NAME, column};
use crate::kind::{Kind, kind};
use crate::subject::{Change, NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    kinds: &KINDS,
    columns: |group, kind| match (group, kind) {
        ("", "Node") => Some(columns::columns()),
        ("node.k8s.io", "RuntimeClass") => {
            Some(vec![NAME, column("Handler", "", |one, _| text(one, &["handler"]).into()), AGE])
        }
        _ => None,
    },
    warnings,
    ..NOTHING
};

#[rustfmt::skip]
static KINDS: [Kind; 2] = [
    kind("", "Node", "nodes", &["no"]).cluster().status().status_from_client().selectable(&["spec.unschedulable"]).rules(node::NODE),
    kind("node.k8s.io", "RuntimeClass", "runtimeclasses", &[]).cluster().conditional().create_on_update().metadata_repeats(1, 0)
        .rules(runtime_class::RUNTIME),
];

fn warnings(change: &Change<'_>, found: &mut Vec<String>) {
    let object = change.object;
    match (change.group, change.kind) {
        ("", "Node") if !text(object, &["spec", "externalID"]).is_empty() => {
            found.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".into());
        }
        ("node.k8s.io", "RuntimeClass") => {
            let selector = object["scheduling"]["nodeSelector"].as_object();
            let advice = selector.into_iter().flatten().filter_map(|(key, _)| labels::node_label(key));
            found.extend(advice.map(|advice| format!("scheduling.nodeSelector: {advice}")));
        }
        _ => {}
    }
}
