//! Defaults and rules that Cluster API and Metal3 implement as admission webhooks, as pure functions over
//! objects.
//!
//! For each create and update of these kinds (main resource, not `/status`), a server calls [`set_defaults`]
//! before the validation against the schema and [`check`] after it. [`admit`] does both at once;
//! [`admit_scale`] is for `/scale`, and [`check_deletion`] for deletions. What rules must know about other objects, such as the class
//! of a Cluster, comes in as [`Facts`]. An object whose fields have the wrong type passes, since the schema
//! refuses it with a better message.

mod addons;
mod autoscaler;
mod bare_metal_host;
mod bmc_event_subscription;
mod cluster;
mod cluster_class;
mod common;
mod control_plane;
mod control_plane_update;
mod defaults;
mod facts;
mod features;
mod host_annotations;
mod host_claim;
mod ignition;
mod in_cluster_pool;
mod infrastructure;
mod ipam;
mod kubeadm_config;
mod machine;
mod machine_deployment;
mod machine_health;
mod machine_pool;
mod machine_set;
mod metal3_cluster;
mod metal3_data;
mod metal3_ip_claim;
mod metal3_ip_pool;
mod metal3_machine;
mod metal3_remediation;
mod request;
mod runtime;
mod versions;

use machinery::field::FieldError;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use cluster::{class_key, upgrades};
use common::Errors;
pub use facts::{Fact, Facts, Running};
pub use features::{Features, Gates};
use request::Request;

/// Sets the defaults of `new` and checks the rules of its kind with all features that are on by default: [`set_defaults`], then [`check`].
///
/// # Errors
/// All violated rules, in the order of the fields.
pub fn admit(
    group: &str,
    kind: &str,
    new: &mut Value,
    old: Option<&Value>,
    dry_run: bool,
    facts: &Facts,
) -> Result<Vec<String>, Vec<FieldError>> {
    let mut found = set_defaults(group, kind, new, old, facts).err().unwrap_or_default();
    match check(group, kind, new, old, dry_run, Features::default(), facts) {
        Ok(warnings) if found.is_empty() => return Ok(warnings),
        Ok(_) => {}
        Err(errors) => found.extend(errors),
    }
    Err(found)
}

/// Sets the defaults of `new`. Unknown kinds are left unchanged.
///
/// # Errors
/// Fails if a default cannot be computed from the object, or a variable of a Cluster is wrong.
pub fn set_defaults(
    group: &str,
    kind: &str,
    new: &mut Value,
    old: Option<&Value>,
    facts: &Facts,
) -> Result<(), Vec<FieldError>> {
    let mut errors = Errors::default();
    if let Some(set) = defaults(group, kind) {
        set(new, old, &mut errors);
    }
    if (group, kind) == ("cluster.x-k8s.io", "Cluster") {
        cluster::variables(new, old, facts, &mut errors);
    }
    errors.into_result().map(|_| ())
}

/// Checks the rules of a kind on an object with defaults. Returns warnings for the client.
///
/// # Errors
/// All violated rules, in the order of the fields.
pub fn check(
    group: &str,
    kind: &str,
    new: &Value,
    old: Option<&Value>,
    dry_run: bool,
    features: Features,
    facts: &Facts,
) -> Result<Vec<String>, Vec<FieldError>> {
    let mut errors = Errors::default();
    if let Some(rules) = rules(group, kind) {
        rules(Request { features, new, old, dry_run, facts }, &mut errors);
    }
    errors.into_result()
}

/// Checks the deletion of `object`. `propagation` is the `propagationPolicy` of the request, if it has one.
///
/// # Errors
/// A sentence: why it cannot be deleted.
pub fn check_deletion(
    group: &str,
    kind: &str,
    object: &Value,
    propagation: Option<&str>,
    facts: &Facts,
) -> Result<(), String> {
    match (group, kind) {
        ("cluster.x-k8s.io", "Cluster") => cluster::deletion(object, propagation),
        ("cluster.x-k8s.io", "ClusterClass") => cluster_class::deletion(facts),
        ("ipam.cluster.x-k8s.io", "InClusterIPPool" | "GlobalInClusterIPPool") => {
            in_cluster_pool::deletion(object, facts)
        }
        _ => Ok(()),
    }
}

/// Returns whether [`check_deletion`] can refuse the deletion of objects of the kind.
pub fn has_deletion_rules(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        ("cluster.x-k8s.io", "Cluster" | "ClusterClass")
            | ("ipam.cluster.x-k8s.io", "InClusterIPPool" | "GlobalInClusterIPPool")
    )
}

/// Checks a change of `spec.replicas` through `/scale`. `object` is the scaled object.
///
/// # Errors
/// All violated rules.
pub fn admit_scale(group: &str, kind: &str, replicas: i64, object: &Value) -> Result<(), Vec<FieldError>> {
    let mut errors = Errors::default();
    if has_scale_rules(group, kind) {
        control_plane::scale(replicas, object, &mut errors);
    }
    errors.into_result().map(|_| ())
}

/// Returns whether [`set_defaults`] can change objects of the kind.
pub fn has_defaults(group: &str, kind: &str) -> bool {
    defaults(group, kind).is_some()
}

/// Returns whether [`check`] can refuse objects of the kind.
pub fn has_rules(group: &str, kind: &str) -> bool {
    rules(group, kind).is_some()
}

/// Returns whether [`admit_scale`] can refuse a write of the kind's `/scale`.
pub fn has_scale_rules(group: &str, kind: &str) -> bool {
    (group, kind) == ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane")
}

/// Sets the defaults of an object; the second object is the one before the write.
type Defaults = fn(&mut Value, Option<&Value>, &mut Errors);

/// Returns the defaults of a kind; `None` if it has none.
fn defaults(group: &str, kind: &str) -> Option<Defaults> {
    let defaults: Defaults = match (group, kind) {
        ("cluster.x-k8s.io", "Cluster") => |new, _, _| defaults::cluster(new),
        ("cluster.x-k8s.io", "Machine") => |new, _, _| defaults::machine(new),
        ("cluster.x-k8s.io", "MachineSet") => defaults::machine_set,
        ("cluster.x-k8s.io", "MachineDeployment") => defaults::machine_deployment,
        ("cluster.x-k8s.io", "MachinePool") => defaults::machine_pool,
        ("cluster.x-k8s.io", "MachineHealthCheck") => |new, _, _| defaults::machine_health_check(new),
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane") => {
            |new, _, _| defaults::kubeadm_control_plane(new)
        }
        ("addons.cluster.x-k8s.io", "ClusterResourceSet") => |new, _, _| defaults::cluster_resource_set(new),
        ("infrastructure.cluster.x-k8s.io", "DevCluster") => {
            |new, _, _| defaults::dev_cluster(new, &["spec"])
        }
        ("infrastructure.cluster.x-k8s.io", "DevClusterTemplate") => {
            |new, _, _| defaults::dev_cluster(new, &["spec", "template", "spec"])
        }
        ("infrastructure.cluster.x-k8s.io", "Metal3Cluster") => |new, _, _| defaults::metal3_cluster(new),
        ("infrastructure.cluster.x-k8s.io", "Metal3RemediationTemplate") => {
            |new, _, _| defaults::metal3_remediation_template(new)
        }
        ("runtime.cluster.x-k8s.io", "ExtensionConfig") => |new, _, _| defaults::extension_config(new),
        _ => return None,
    };
    Some(defaults)
}

/// The rules of a kind.
type Rules = fn(Request<'_>, &mut Errors);

/// Returns the rules of a kind; `None` if only its schema has some.
fn rules(group: &str, kind: &str) -> Option<Rules> {
    let rules: Rules = match (group, kind) {
        ("cluster.x-k8s.io", "Cluster") => |request, errors| with(request, errors, cluster::cluster),
        ("cluster.x-k8s.io", "ClusterClass") => {
            |request, errors| with(request, errors, cluster_class::cluster_class)
        }
        ("cluster.x-k8s.io", "Machine") => |request, errors| with(request, errors, machine::machine),
        ("cluster.x-k8s.io", "MachineSet") => {
            |request, errors| with(request, errors, machine_set::machine_set)
        }
        ("cluster.x-k8s.io", "MachineDeployment") => {
            |request, errors| with(request, errors, machine_deployment::machine_deployment)
        }
        ("cluster.x-k8s.io", "MachinePool") => {
            |request, errors| with(request, errors, machine_pool::machine_pool)
        }
        ("cluster.x-k8s.io", "MachineHealthCheck") => {
            |request, errors| with(request, errors, machine_health::machine_health_check)
        }
        ("cluster.x-k8s.io", "MachineDrainRule") => {
            |request, errors| with(request, errors, machine_health::machine_drain_rule)
        }
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfig") => {
            |request, errors| with(request, errors, kubeadm_config::kubeadm_config)
        }
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate") => {
            |request, errors| with(request, errors, kubeadm_config::kubeadm_config_template)
        }
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane") => {
            |request, errors| with(request, errors, control_plane::kubeadm_control_plane)
        }
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate") => {
            |request, errors| with(request, errors, control_plane::kubeadm_control_plane_template)
        }
        ("addons.cluster.x-k8s.io", "ClusterResourceSet") => {
            |request, errors| with(request, errors, addons::cluster_resource_set)
        }
        ("addons.cluster.x-k8s.io", "ClusterResourceSetBinding") => {
            |request, errors| with(request, errors, addons::cluster_resource_set_binding)
        }
        ("ipam.cluster.x-k8s.io", "IPAddress") => |request, errors| with(request, errors, ipam::ip_address),
        ("ipam.cluster.x-k8s.io", "IPAddressClaim") => ipam::ip_address_claim,
        ("ipam.cluster.x-k8s.io", "InClusterIPPool" | "GlobalInClusterIPPool") => {
            in_cluster_pool::in_cluster_pool
        }
        ("runtime.cluster.x-k8s.io", "ExtensionConfig") => {
            |request, errors| with(request, errors, runtime::extension_config)
        }
        ("metal3.io", "BareMetalHost") => {
            |request, errors| with(request, errors, bare_metal_host::bare_metal_host)
        }
        ("metal3.io", "BMCEventSubscription") => {
            |request, errors| with(request, errors, bmc_event_subscription::bmc_event_subscription)
        }
        ("metal3.io", "HostClaim") => |request, errors| with(request, errors, host_claim::host_claim),
        ("metal3.io", "HostDeployPolicy") => {
            |request, errors| with(request, errors, host_claim::host_deploy_policy)
        }
        ("ipam.metal3.io", "IPClaim") => |request, errors| with(request, errors, metal3_ip_claim::ip_claim),
        ("ipam.metal3.io", "IPAddress") => {
            |request, errors| with(request, errors, metal3_ip_claim::ip_address)
        }
        ("ipam.metal3.io", "IPPool") => |request, errors| with(request, errors, metal3_ip_pool::ip_pool),
        ("infrastructure.cluster.x-k8s.io", kind) => return infrastructure::rules(kind),
        _ => return None,
    };
    Some(rules)
}

/// Calls `rules` with the typed object, unless the object does not have that type's form.
fn with<T: DeserializeOwned>(
    request: Request<'_>,
    errors: &mut Errors,
    rules: fn(Request<'_>, &T, &mut Errors),
) {
    if let Ok(object) = T::deserialize(request.new) {
        rules(request, &object, errors);
    }
}
