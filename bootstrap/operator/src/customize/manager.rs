//! The settings of a manager, which become arguments of its container, with the names of upstream's operator.

use machinery::duration;
use schemas::operator::{ProviderLeaderElection, ProviderManager};
use serde_json::Value;

use super::deployment::set_argument;

/// The verbosity that managers have without an argument.
const VERBOSITY: i64 = 1;

/// Sets the arguments and the paths of probes.
pub(super) fn customize(container: &mut Value, wanted: &ProviderManager) {
    let controller = wanted.controller.as_ref();
    for (kind, number) in controller.iter().flat_map(|controller| &controller.group_kind_concurrency) {
        let name = format!("--{}-concurrency", kind.to_lowercase());
        set_argument(container, &name, &number.to_string());
    }
    let number = |number: Option<i64>| number.map(|number| number.to_string());
    let health = wanted.health.clone().unwrap_or_default();
    let webhook = wanted.webhook.clone().unwrap_or_default();
    let metrics = wanted.metrics.clone().unwrap_or_default();
    for (name, value) in [
        ("--max-concurrent-reconciles", number(wanted.max_concurrent_reconciles)),
        ("--namespace", wanted.cache_namespace.clone()),
        ("--health-addr", health.health_probe_bind_address.clone()),
        ("--metrics-bind-addr", metrics.bind_address),
        ("--webhook-host", webhook.host),
        ("--webhook-port", number(webhook.port)),
        ("--webhook-cert-dir", webhook.cert_dir),
        ("--sync-period", seconds(wanted.sync_period.as_deref())),
        ("--profiler-address", wanted.profiler_address.clone()),
        ("--v", number(wanted.verbosity.filter(|verbosity| *verbosity != VERBOSITY))),
        ("--feature-gates", feature_gates(wanted)),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            set_argument(container, name, &value);
        }
    }
    if let Some(election) = &wanted.leader_election {
        leader_election(container, election);
    }
    for (probe, name) in [
        ("/livenessProbe/httpGet", health.liveness_endpoint_name),
        ("/readinessProbe/httpGet", health.readiness_endpoint_name),
    ] {
        if let (Some(place), Some(name)) =
            (container.pointer_mut(probe), name.filter(|name| !name.is_empty()))
        {
            place["path"] = format!("/{name}").into();
        }
    }
}

fn feature_gates(wanted: &ProviderManager) -> Option<String> {
    let gates: Vec<String> =
        wanted.feature_gates.iter().map(|(gate, is_on)| format!("{gate}={is_on}")).collect();
    Some(gates.join(","))
}

fn leader_election(container: &mut Value, wanted: &ProviderLeaderElection) {
    set_argument(container, "--leader-elect", &wanted.leader_elect.to_string());
    if !wanted.leader_elect {
        return;
    }
    if !wanted.resource_name.is_empty() && !wanted.resource_namespace.is_empty() {
        let id = format!("{}/{}", wanted.resource_namespace, wanted.resource_name);
        set_argument(container, "--leader-election-id", &id);
    }
    for (name, text) in [
        ("--leader-elect-lease-duration", &wanted.lease_duration),
        ("--leader-elect-renew-deadline", &wanted.renew_deadline),
        ("--leader-elect-retry-period", &wanted.retry_period),
    ] {
        if let Some(value) = seconds(Some(text)) {
            set_argument(container, name, &value);
        }
    }
}

/// Returns a duration as text in whole seconds. Returns `None` if the text is not a duration, or if it rounds to zero or less.
fn seconds(text: Option<&str>) -> Option<String> {
    let seconds = duration::parse(text?)?.as_secs_f64().round();
    (seconds > 0.0).then(|| format!("{seconds:.0}s"))
}
