//! Admission rules of ClusterResourceSet and ClusterResourceSetBinding.

use super::common::{self, Errors, at};
use super::request::Request;
use crate::addons::{ClusterResourceSet, ClusterResourceSetBinding};

pub fn cluster_resource_set(request: Request<'_>, set: &ClusterResourceSet, errors: &mut Errors) {
    let selector = &set.spec.cluster_selector;
    if common::label_selector("spec.clusterSelector", selector, errors) && common::selects_all(selector) {
        errors.invalid(
            "spec.clusterSelector",
            serde_json::to_value(selector).unwrap_or_default(),
            "must not be empty: it would select no Cluster",
        );
    }
    let Some(old) = request.old else { return };
    let before = at(old, &["spec", "strategy"]).as_str().filter(|strategy| !strategy.is_empty());
    let after = set.spec.strategy.as_deref();
    if before.is_some() && before != after {
        errors.invalid("spec.strategy", after.unwrap_or_default(), "field is immutable");
    }
    if at(old, &["spec", "clusterSelector"]) != at(request.new, &["spec", "clusterSelector"]) {
        errors.invalid(
            "spec.clusterSelector",
            at(request.new, &["spec", "clusterSelector"]).clone(),
            "field is immutable",
        );
    }
}

pub fn cluster_resource_set_binding(
    request: Request<'_>,
    binding: &ClusterResourceSetBinding,
    errors: &mut Errors,
) {
    let before = request.old.and_then(|old| at(old, &["spec", "clusterName"]).as_str()).unwrap_or_default();
    let after = binding.spec.cluster_name.as_str();
    if !before.is_empty() && before != after {
        errors.invalid("spec.clusterName", after, "field is immutable");
    }
}
