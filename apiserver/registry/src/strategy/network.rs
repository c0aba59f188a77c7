//! Network policies.

use serde_json::{Value, json};

use super::known::{NONE, Rules};

/// `networking.k8s.io/v1` NetworkPolicy
pub(super) const NETWORK_POLICY: Rules = Rules {
    normalize: |policy| {
        let Some(spec) = policy["spec"].as_object_mut() else { return };
        let outwards = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
        spec.entry("policyTypes")
            .or_insert_with(|| if outwards { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
    },
    ..NONE
};
