//! Warnings about valid but questionable fields of Services, Ingresses and EndpointSlices.

use serde_json::Value;

use crate::fields::{annotated, list, text};
use crate::subject::Change;

/// Adds the warnings for a write to `found`.
pub(crate) fn of(change: &Change<'_>, found: &mut Vec<String>) {
    let object = change.object;
    match (change.group, change.kind) {
        ("", "Service") => service(object, found),
        ("networking.k8s.io", "Ingress") if change.old.is_none() => {
            const CLASS: &str = "kubernetes.io/ingress.class";
            if annotated(object, CLASS) && object["spec"]["ingressClassName"].is_null() {
                found.push(format!(
                    "annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        ("discovery.k8s.io", "EndpointSlice") if object["addressType"] == "FQDN" => {
            found.push("spec.addressType: FQDN endpoints are deprecated".into());
        }
        _ => {}
    }
}

fn service(object: &Value, found: &mut Vec<String>) {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    let spec = &object["spec"];
    let kind = text(spec, "type");
    if annotated(object, HINTS) {
        found.push(format!(
            "annotation {HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let external = !list(spec, "externalIPs").is_empty();
    let headless = matches!(kind, "" | "ClusterIP") && text(spec, "clusterIP") == "None";
    if headless {
        let ignored = [
            ("spec.loadBalancerIP", !text(spec, "loadBalancerIP").is_empty()),
            ("spec.externalIPs", external),
            ("spec.SessionAffinity", !matches!(text(spec, "sessionAffinity"), "None" | "")),
        ];
        let ignored = ignored.into_iter().filter(|(_, given)| *given);
        found.extend(ignored.map(|(field, _)| format!("{field} is ignored for headless services")));
    }
    if external && !headless && kind != "ExternalName" {
        found.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".into());
    }
    if external && kind == "ExternalName" {
        found.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
    }
    if kind != "ExternalName" && !text(spec, "externalName").is_empty() {
        found.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        found.push("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".into());
    }
}
