//! Pausing: an object is paused by its Cluster's `spec.paused` or by its own annotation.

use chrono::{DateTime, Utc};
use schemas::HasConditions;
use schemas::cluster::Cluster;

use crate::conditions;
use crate::names;
use crate::object::{Kind, annotation};

/// Sets the `Paused` condition; returns `true` if the reconcile must stop here. The caller writes the object
/// back in either case.
pub fn set<K: Kind<DynamicType = ()> + HasConditions>(
    object: &mut K,
    cluster: Option<&Cluster>,
    now: DateTime<Utc>,
) -> bool {
    let causes = causes(object, cluster);
    let condition = if causes.is_empty() {
        conditions::is_false("Paused", "NotPaused", "")
    } else {
        conditions::new("Paused", conditions::TRUE, "Paused", causes.join(", "))
    };
    conditions::set(object, now, condition);
    !causes.is_empty()
}

/// Returns the reasons why `object` is paused; empty if it is not.
pub fn causes<K: Kind<DynamicType = ()>>(object: &K, cluster: Option<&Cluster>) -> Vec<String> {
    let mut causes = Vec::new();
    if cluster.is_some_and(|cluster| cluster.spec.paused == Some(true)) {
        causes.push("Cluster spec.paused is set to true".to_owned());
    }
    if annotation(object, names::PAUSED).is_some() {
        causes.push(format!("{} has the {} annotation", K::kind(&()), names::PAUSED));
    }
    causes
}
