//! Deprecated node labels, and the warnings about them.

use serde_json::Value;

use crate::fields::{list, text};

/// Deprecated node labels, with the advice of kube-apiserver.
const NODE_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

pub(crate) fn node_label(key: &str) -> Option<&'static str> {
    NODE_LABELS.iter().find(|(label, _)| *label == key).map(|(_, advice)| *advice)
}

pub(crate) fn term_labels(term: &Value, path: &str, found: &mut Vec<String>) {
    for (index, expression) in list(term, "matchExpressions").iter().enumerate() {
        let key = text(expression, "key");
        let advice = node_label(key);
        found.extend(advice.map(|why| format!("{path}.matchExpressions[{index}].key: {key} is {why}")));
    }
}
