//! Admission rules of KubeadmControlPlane and KubeadmControlPlaneTemplate.

use serde_json::Value;

use super::common::{self, Errors, at};
use super::control_plane_update;
use super::features;
use super::kubeadm_config;
use super::machine::{self, TaintsOf};
use super::request::Request;
use crate::bootstrap::{ClusterConfiguration, KubeadmConfigSpec};
use crate::controlplane::{KubeadmControlPlane, KubeadmControlPlaneRollout, KubeadmControlPlaneTemplate};
use crate::defaults::CERTIFICATE_VALIDITY_DAYS;
use crate::int_value::int_value;

/// Default validity of certificate authorities in days.
const CA_VALIDITY_DAYS: i32 = 3650;
/// With fewer replicas, a rollout without surge would lose the quorum.
const REPLICAS_MIN_WITHOUT_SURGE: i32 = 3;

pub fn kubeadm_control_plane(request: Request<'_>, plane: &KubeadmControlPlane, errors: &mut Errors) {
    let spec = &plane.spec;
    let config = spec.kubeadm_config_spec.as_ref();
    match spec.replicas {
        None => errors.required("spec.replicas", "must be set"),
        Some(replicas) => scale(i64::from(replicas), request.new, errors),
    }
    infrastructure_reference(plane, errors);
    common::version("spec.version", Some(&spec.version), errors);
    rollout("spec.rollout", spec.rollout.as_ref(), spec.replicas, errors);
    machine::machine_naming("kubeadmControlPlane", spec.machine_naming.as_ref(), errors);
    let template = &spec.machine_template;
    common::template_metadata("spec.machineTemplate.metadata", template.metadata.as_ref(), errors);
    let taints = &template.spec.taints;
    machine::taints("spec.machineTemplate.spec.taints", taints, TaintsOf::Anything, request.features, errors);
    if let Some(config) = config {
        kubeadm_config_spec("spec.kubeadmConfigSpec", config, spec.rollout.as_ref(), request, errors);
    }
    if let Some(old) = request.old {
        control_plane_update::validate(old, request.new, errors);
    }
}

pub fn kubeadm_control_plane_template(
    request: Request<'_>,
    template: &KubeadmControlPlaneTemplate,
    errors: &mut Errors,
) {
    const FIELD: &str = "spec.template.spec";
    if request.old.is_none() && !request.features.cluster_topology {
        errors.forbidden("spec", features::off("ClusterTopology"));
    }
    common::template_metadata("spec.template.metadata", template.spec.template.metadata.as_ref(), errors);
    if let Some(spec) = &template.spec.template.spec {
        rollout(&format!("{FIELD}.rollout"), spec.rollout.as_ref(), None, errors);
        if let Some(config) = &spec.kubeadm_config_spec {
            let field = format!("{FIELD}.kubeadmConfigSpec");
            kubeadm_config_spec(&field, config, spec.rollout.as_ref(), request, errors);
        }
    }
    let Some(old) = request.old else { return };
    const PATH: [&str; 3] = ["spec", "template", "spec"];
    if !request.skips_immutability() && at(old, &PATH) != at(request.new, &PATH) {
        errors.invalid(FIELD, at(request.new, &PATH).clone(), "field is immutable");
    }
}

/// Checks `replicas` for the control plane `object`.
pub fn scale(replicas: i64, object: &Value, errors: &mut Errors) {
    const FIELD: &str = "spec.replicas";
    let external_etcd = ["spec", "kubeadmConfigSpec", "clusterConfiguration", "etcd", "external"];
    if replicas <= 0 {
        errors.forbidden(FIELD, "must be more than 0");
    } else if replicas % 2 == 0 && !at(object, &external_etcd).is_object() {
        errors.forbidden(FIELD, "must be odd when etcd runs on the control plane machines");
    }
}

fn infrastructure_reference(plane: &KubeadmControlPlane, errors: &mut Errors) {
    let reference = &plane.spec.machine_template.spec.infrastructure_ref;
    let parts = [("apiGroup", &reference.api_group), ("kind", &reference.kind), ("name", &reference.name)];
    for (part, value) in parts {
        if value.is_empty() {
            errors
                .required(format_args!("spec.machineTemplate.spec.infrastructureRef.{part}"), "must be set");
        }
    }
}

fn rollout(
    field: &str,
    rollout: Option<&KubeadmControlPlaneRollout>,
    replicas: Option<i32>,
    errors: &mut Errors,
) {
    let strategy = rollout.and_then(|rollout| rollout.strategy.as_ref());
    let limits = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let Some(surge) = limits.and_then(|limits| limits.max_surge.as_ref()) else { return };
    let field = format!("{field}.strategy.rollingUpdate");
    match int_value(surge) {
        1 => {}
        0 => {
            if replicas.is_some_and(|replicas| replicas < REPLICAS_MIN_WITHOUT_SURGE) {
                errors.required(
                    field,
                    format!("when KubeadmControlPlane is configured to scale-in, replica count needs to be at least {REPLICAS_MIN_WITHOUT_SURGE}"),
                );
            }
        }
        _ => errors.required(format_args!("{field}.maxSurge"), "value must be 1 or 0"),
    }
}

/// Warns if certificates that have kubeadm's default life would always be about to expire.
fn certificates_expiry(
    field: &str,
    spec: &KubeadmConfigSpec,
    rollout: Option<&KubeadmControlPlaneRollout>,
    errors: &mut Errors,
) {
    let configuration = spec.cluster_configuration.as_ref();
    let validity = configuration.and_then(|configuration| configuration.certificate_validity_period_days);
    let before = rollout
        .and_then(|rollout| rollout.before.as_ref())
        .and_then(|before| before.certificates_expiry_days);
    let Some(before) = before.filter(|days| *days >= CERTIFICATE_VALIDITY_DAYS) else { return };
    if validity.is_none_or(|days| days <= 0) {
        let rollout = field.rsplit_once('.').map(|(parent, _)| parent).unwrap_or_default();
        errors.warn(format_args!(
            "{rollout}.rollout.before.certificatesExpiryDays: certificates live {CERTIFICATE_VALIDITY_DAYS} days, so \
             {before} days before their expiry a new Machine would be replaced at once: Machines are replaced in the \
             middle of that life instead; set {field}.clusterConfiguration.certificateValidityPeriodDays"
        ));
    }
}

fn kubeadm_config_spec(
    field: &str,
    spec: &KubeadmConfigSpec,
    rollout: Option<&KubeadmControlPlaneRollout>,
    request: Request<'_>,
    errors: &mut Errors,
) {
    kubeadm_config::spec(field, spec, request, errors);
    certificates_expiry(field, spec, rollout, errors);
    if let Some(configuration) = &spec.cluster_configuration {
        let field = format!("{field}.clusterConfiguration");
        cluster_configuration(&field, configuration, rollout, errors);
    }
    let init = spec.init_configuration.as_ref().and_then(|init| init.timeouts.as_ref());
    let join = spec.join_configuration.as_ref().and_then(|join| join.timeouts.as_ref());
    let init = init.and_then(|timeouts| timeouts.control_plane_component_health_check_seconds);
    let join = join.and_then(|timeouts| timeouts.control_plane_component_health_check_seconds);
    if init != join {
        errors.invalid(
            format_args!("{field}.initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds"),
            init,
            format!("must be the same as in {field}.joinConfiguration.timeouts"),
        );
    }
}

fn cluster_configuration(
    field: &str,
    configuration: &ClusterConfiguration,
    rollout: Option<&KubeadmControlPlaneRollout>,
    errors: &mut Errors,
) {
    if let Some(etcd) = &configuration.etcd {
        if etcd.local.is_some() && etcd.external.is_some() {
            errors.forbidden(format_args!("{field}.etcd.local"), "can't be set together with external");
        }
        let tag = etcd.local.as_ref().and_then(|local| local.image_tag.as_deref());
        image_tag(&format!("{field}.etcd.local.imageTag"), tag, errors);
    }
    let tag = configuration.dns.as_ref().and_then(|dns| dns.image_tag.as_deref());
    image_tag(&format!("{field}.dns.imageTag"), tag, errors);
    if let Some(tag) = tag.filter(|tag| is_image_tag(tag) && common::major_minor(tag).is_none()) {
        errors.invalid(
            format_args!("{field}.dns.imageTag"),
            tag,
            "must be a version of CoreDNS, such as v1.12.1",
        );
    }
    let validity = configuration.certificate_validity_period_days.filter(|days| *days > 0);
    let Some(days) = validity else { return };
    let field = format!("{field}.certificateValidityPeriodDays");
    let authority = configuration.ca_certificate_validity_period_days.filter(|days| *days > 0);
    let authority = authority.unwrap_or(CA_VALIDITY_DAYS);
    if days > authority {
        errors.invalid(
            &field,
            days,
            format!("must not be more than {authority}, the days of the authorities"),
        );
    }
    let before = rollout
        .and_then(|rollout| rollout.before.as_ref())
        .and_then(|before| before.certificates_expiry_days);
    if before.is_some_and(|before| days <= before) {
        errors.invalid(&field, days, "must be more than rollout.before.certificatesExpiryDays");
    }
}

fn image_tag(field: &str, tag: Option<&str>, errors: &mut Errors) {
    if let Some(tag) = tag.filter(|tag| !tag.is_empty() && !is_image_tag(tag)) {
        errors.invalid(field, tag, "must be the tag of an image");
    }
}

/// Returns whether a text is an image tag: at most 128 letters, digits, `_`, `.` and `-`, not beginning with
/// `.` or `-`.
fn is_image_tag(tag: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    !tag.is_empty() && tag.len() <= 128 && !tag.starts_with(['.', '-']) && tag.chars().all(letter)
}
