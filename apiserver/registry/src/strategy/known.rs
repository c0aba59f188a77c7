//! The strategy of the kinds in [`crate::kinds`]: it combines the table, the structural validation and the rules of
//! each kind.

use std::borrow::Cow;
use std::collections::HashSet;

use machinery::field::FieldError;
use machinery::{meta, types};
use serde_json::Value;

use super::default::{forbidden, invalid};
use super::{
    Generation, Strategy, admission, autoscaler, certificate, classes, endpoints, gated, job, network, node,
    pod, quota, service, storage, workload,
};
use crate::context::Subresource;
use crate::definition::Structure;
use crate::kinds::Kind;

/// The rules of a kind beyond its structure, as functions that a kind overrides in [`NONE`].
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Sets defaults that depend on other fields.
    pub(super) normalize: fn(&mut Value),
    /// Sets fields at creation.
    pub(super) prepare: fn(&mut Value),
    /// Sets fields, or restores them from the old object, at each update.
    pub(super) prepare_update: fn(&mut Value, &Value),
    /// Sets or restores fields at an update through a subresource. The text is the current time.
    pub(super) prepare_part: fn(Subresource, &mut Value, &Value, &str),
    /// Validates an object.
    pub(super) validate: fn(&Value) -> Vec<FieldError>,
    /// Validates rules that hold for new objects only.
    pub(super) validate_new: fn(&Value) -> Vec<FieldError>,
    /// Validates an update through a subresource against the old object.
    pub(super) validate_part: fn(Subresource, &Value, &Value) -> Vec<FieldError>,
    /// Returns errors for changes that an update must not make.
    pub(super) immutable: fn(&Value, &Value) -> Vec<FieldError>,
    /// Validates an update of the status, for kinds that do not validate the whole object then.
    pub(super) status: Option<fn(&Value, &Value) -> Vec<FieldError>>,
    /// Sets or restores fields at each update of the status.
    pub(super) prepare_status: fn(&mut Value, &Value),
}

/// Rules that do nothing.
pub(super) const NONE: Rules = Rules {
    normalize: |_| {},
    prepare: |_| {},
    prepare_update: |_, _| {},
    prepare_part: |_, _, _, _| {},
    validate: |_| Vec::new(),
    validate_new: |_| Vec::new(),
    validate_part: |_, _, _| Vec::new(),
    immutable: |_, _| Vec::new(),
    status: None,
    prepare_status: |_, _| {},
};

/// The strategy of a kind of the table.
pub(crate) struct Known {
    kind: &'static Kind,
    ty: String,
    schema: Structure,
    rules: Rules,
}

impl Known {
    /// Returns the strategy of `kind`, whose objects have the structure `schema`.
    pub(crate) fn new(kind: &'static Kind, schema: Structure) -> Self {
        let rules = match (kind.group, kind.kind) {
            ("", "Pod") => pod::POD,
            ("", "PodTemplate") => pod::POD_TEMPLATE,
            ("", "Service") => service::SERVICE,
            ("", "ReplicationController") => workload::REPLICATION_CONTROLLER,
            ("", "Node") => node::NODE,
            ("", "PersistentVolume") => storage::VOLUME,
            ("", "PersistentVolumeClaim") => storage::CLAIM,
            ("certificates.k8s.io", "CertificateSigningRequest") => certificate::REQUEST,
            ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::AUTOSCALER,
            ("apps", "Deployment") => workload::DEPLOYMENT,
            ("apps", "ReplicaSet") => workload::REPLICA_SET,
            ("apps", "DaemonSet") => workload::DAEMON_SET,
            ("apps", "StatefulSet") => workload::STATEFUL_SET,
            ("batch", "Job") => job::JOB,
            ("batch", "CronJob") => job::CRON_JOB,
            ("", "Endpoints") => endpoints::ENDPOINTS,
            ("discovery.k8s.io", "EndpointSlice") => endpoints::SLICE,
            ("", "LimitRange") => quota::LIMIT_RANGE,
            ("", "ResourceQuota") => quota::QUOTA,
            ("policy", "PodDisruptionBudget") => workload::BUDGET,
            ("storage.k8s.io", "StorageClass") => classes::STORAGE,
            ("node.k8s.io", "RuntimeClass") => classes::RUNTIME,
            ("scheduling.k8s.io", "PriorityClass") => classes::PRIORITY,
            ("networking.k8s.io", "NetworkPolicy") => network::NETWORK_POLICY,
            ("networking.k8s.io", "Ingress") => network::INGRESS,
            ("networking.k8s.io", "IngressClass") => network::INGRESS_CLASS,
            (
                "admissionregistration.k8s.io",
                "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
            ) => admission::WEBHOOKS,
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => admission::POLICY,
            ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => admission::BINDING,
            _ => NONE,
        };
        Self { kind, ty: kind.type_name(), schema, rules }
    }
}

impl Known {
    /// Returns the object in the stored version, for which the rules are written.
    fn stored<'v>(&self, object: &'v Value) -> Cow<'v, Value> {
        // The autoscaler is the only kind with several versions.
        match self.kind.kind {
            "HorizontalPodAutoscaler" => {
                Cow::Owned(autoscaler::in_version(object.clone(), self.kind.version))
            }
            _ => Cow::Borrowed(object),
        }
    }

    /// Returns the initial status of a new object in `version`, or `None` if it has no status.
    fn new_status(&self, version: &str) -> Option<Value> {
        if version != self.kind.version {
            let zero = types::zero_object(&types::name_of(self.kind.group, version, self.kind.kind));
            return zero.map(|mut zero| zero["status"].take());
        }
        let status = self.schema.properties.get("status").filter(|status| status.default.is_some())?;
        let mut empty = Value::Object(serde_json::Map::new());
        machinery::schema::default(status, &mut empty);
        Some(empty)
    }

    fn check(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = types::validate(&self.ty, object);
        // The rules repeat some errors of the structural validation, which must appear once.
        let said: HashSet<String> = errors.iter().map(ToString::to_string).collect();
        let others = (self.rules.validate)(object).into_iter();
        errors.extend(others.filter(|error| said.is_empty() || !said.contains(&error.to_string())));
        errors
    }
}

/// Immutable fields by kind.
const IMMUTABLE: [(&str, &str); 13] = [
    ("ControllerRevision", "data"),
    ("EndpointSlice", "addressType"),
    ("IPAddress", "spec.parentRef"),
    ("IngressClass", "spec.controller"),
    ("Job", "spec.completionMode"),
    ("Job", "spec.selector"),
    ("Job", "spec.backoffLimitPerIndex"),
    ("PriorityClass", "preemptionPolicy"),
    ("RuntimeClass", "handler"),
    ("StorageClass", "parameters"),
    ("StorageClass", "provisioner"),
    ("StorageClass", "reclaimPolicy"),
    ("StorageClass", "volumeBindingMode"),
];

fn immutable(object: &Value, old: &Value, field: &str) -> Option<FieldError> {
    let at = |object: &Value| field.split('.').fold(object, |value, step| &value[step]).clone();
    let (now, before) = (at(object), at(old));
    (now != before).then(|| invalid(field, now, "field is immutable"))
}

impl Strategy for Known {
    fn normalize(&self, object: &mut Value) {
        (self.rules.normalize)(object);
    }

    fn admit_create(&self, object: &mut Value, find: &super::Find<'_>) -> Result<(), String> {
        match self.kind.kind {
            "Pod" => pod::admit(object, find),
            _ => Ok(()),
        }
    }

    /// Resets the status of a new object, except for Nodes, because kubelets register them with a status.
    fn prepare_create(&self, object: &mut Value) {
        if self.kind.status && self.kind.kind != "Node" {
            let status = self.new_status(meta::group_version(meta::api_version(object)).1);
            match (object.as_object_mut(), status) {
                (Some(map), Some(status)) => {
                    map.insert("status".into(), status);
                }
                (Some(map), None) => {
                    map.remove("status");
                }
                _ => {}
            }
        }
        gated::forget(self.kind.kind, object);
        (self.rules.prepare)(object);
    }

    fn requested_by(&self, object: &mut Value, user: &crate::context::User) {
        if self.kind.kind == "CertificateSigningRequest" {
            certificate::requested_by(object, user);
        }
    }

    fn prepare_update(&self, object: &mut Value, old: &Value) {
        gated::forget(self.kind.kind, object);
        (self.rules.prepare_update)(object, old);
    }

    fn prepare_part_update(&self, part: Subresource, object: &mut Value, old: &Value, now: &str) {
        if part == Subresource::Status {
            (self.rules.prepare_status)(object, old);
        }
        (self.rules.prepare_part)(part, object, old, now);
    }

    fn create_refusal(&self, object: &Value) -> Option<String> {
        (self.kind.kind == "CertificateSigningRequest").then(|| certificate::refusal(object))?
    }

    fn validate_status_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = match self.rules.status {
            Some(check) => check(object, old),
            None => self.validate_update(object, old),
        };
        errors.extend((self.rules.validate_part)(Subresource::Status, object, old));
        errors
    }

    fn validate_part_update(&self, part: Subresource, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.check(object);
        errors.extend((self.rules.validate_part)(part, object, old));
        errors
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let object = &*self.stored(object);
        let mut errors = self.check(object);
        errors.extend((self.rules.validate_new)(object));
        errors
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let (object, old) = (&*self.stored(object), &*self.stored(old));
        let mut errors = self.check(object);
        if self.kind.kind == "Job" {
            // kube-apiserver validates an updated Job twice. Only the first pass reports a selector that is not
            // auto-generated.
            let again: Vec<FieldError> =
                errors.iter().filter(|error| !error.detail.contains("not auto-generated")).cloned().collect();
            errors.extend(again);
        }
        errors.extend((self.rules.immutable)(object, old));
        if self.kind.kind == "PriorityClass" && object["value"] != old["value"] {
            errors.push(forbidden("value", "may not be changed in an update."));
        }
        let kept = IMMUTABLE.iter().filter(|(kind, _)| *kind == self.kind.kind);
        errors.extend(kept.filter_map(|(_, field)| immutable(object, old, field)));
        errors
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        let name = if prefix { super::masked(name) } else { name.to_owned() };
        match self.kind.kind {
            "Service" | "StatefulSet" => machinery::names::dns1123_label(&name),
            "FlowSchema" | "PriorityLevelConfiguration" | "APIService" => {
                machinery::names::path_segment(&name)
            }
            _ => machinery::names::dns1123_subdomain(&name),
        }
    }

    fn create_on_update(&self) -> bool {
        self.kind.create_on_update
    }

    fn unconditional_update(&self) -> bool {
        self.kind.unconditional
    }

    fn generation(&self) -> Generation {
        match self.kind.kind {
            "Deployment" => Generation::SpecAndAnnotations,
            "EndpointSlice" => Generation::SpecAndLabels,
            _ if self.kind.generation => Generation::Spec,
            _ => Generation::Untouched,
        }
    }

    fn selectable(&self) -> &'static [&'static str] {
        self.kind.selectable
    }

    fn unknown_field(&self, field: &str) -> String {
        match self.kind.kind {
            "Job" => format!("field label {field:?} not supported for Job"),
            "ResourceSlice" => {
                format!("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}")
            }
            _ => super::unknown_field(self.selectable(), field),
        }
    }

    /// Jobs and ReplicationControllers are older than garbage collection and keep the old default.
    fn orphans_by_default(&self) -> bool {
        matches!(self.kind.kind, "Job" | "ReplicationController")
    }

    fn grace_period(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        (self.kind.kind == "Pod").then(|| pod::grace_period(object, asked))
    }

    fn delete_returns_object(&self) -> bool {
        self.kind.returns_deleted
    }
}
