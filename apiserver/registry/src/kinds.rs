//! Kinds that the server stores and lists but does not act on, because manifests of providers contain them or clients
//! list them. Their structure comes from [`machinery::types`].

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use machinery::types::{self, LazySchema};

use crate::context::Subresource;
use crate::definition::{Definition, Scale, Structure, Version};
use crate::from_crd::VERBS;

/// A built-in kind with its names, its scope and the properties that differ from kind to kind.
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    /// The version that is stored and preferred, for example `v1`.
    pub(crate) version: &'static str,
    /// Other versions that are served.
    older: &'static [&'static str],
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    pub(crate) status: bool,
    scale: bool,
    verbs: &'static [&'static str],
    /// Subresources beside `status` and `scale`, for example `/approval`.
    parts: &'static [Subresource],
    /// Whether the server increments `metadata.generation` at each change of the spec.
    pub(crate) generation: bool,
    /// Whether a PUT may omit `metadata.resourceVersion`.
    pub(crate) unconditional: bool,
    /// Whether a PUT creates an object that does not exist.
    pub(crate) create_on_update: bool,
    /// Whether a DELETE responds with the deleted object instead of a `Status`.
    pub(crate) returns_deleted: bool,
    /// Fields that field selectors may use beside `metadata.name` and `metadata.namespace`.
    pub(crate) selectable: &'static [&'static str],
}

const fn kind(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
) -> Kind {
    Kind {
        group,
        version: "v1",
        older: &[],
        kind,
        plural,
        short_names,
        categories: &[],
        namespaced: true,
        status: false,
        scale: false,
        verbs: &VERBS,
        parts: &[],
        generation: false,
        unconditional: true,
        create_on_update: false,
        returns_deleted: false,
        selectable: &[],
    }
}

impl Kind {
    const fn cluster(self) -> Self {
        Self { namespaced: false, ..self }
    }

    const fn status(self) -> Self {
        Self { status: true, ..self }
    }

    /// The kind only has `create`; its objects are never stored.
    const fn answered(self) -> Self {
        Self { verbs: &["create"], ..self }
    }

    const fn scale(self) -> Self {
        Self { scale: true, ..self }
    }

    const fn parts(self, parts: &'static [Subresource]) -> Self {
        Self { parts, ..self }
    }

    const fn generation(self) -> Self {
        Self { generation: true, ..self }
    }

    const fn conditional(self) -> Self {
        Self { unconditional: false, ..self }
    }

    const fn create_on_update(self) -> Self {
        Self { create_on_update: true, ..self }
    }

    const fn returns_deleted(self) -> Self {
        Self { returns_deleted: true, ..self }
    }

    const fn all(self) -> Self {
        Self { categories: &["all"], ..self }
    }

    const fn extension(self) -> Self {
        Self { categories: &["api-extensions"], ..self }
    }

    const fn versions(self, version: &'static str, older: &'static [&'static str]) -> Self {
        Self { version, older, ..self }
    }

    const fn selectable(self, selectable: &'static [&'static str]) -> Self {
        Self { selectable, ..self }
    }

    /// Returns the name of the type in [`machinery::types`].
    pub(crate) fn type_name(&self) -> String {
        types::name_of(self.group, self.version, self.kind)
    }

    fn version_named(&self, name: &str) -> Arc<Version> {
        let schema = LazySchema::new(types::name_of(self.group, name, self.kind));
        Arc::new(Version {
            name: name.to_owned(),
            served: true,
            deprecation_warning: (self.kind == "Endpoints").then(|| ENDPOINTS.to_owned()),
            schema: Structure::Known(Arc::new(schema)),
            schema_text: Box::default(),
            columns: Vec::new(),
            status: self.status,
            scale: self.scale.then(|| Scale {
                spec_replicas_path: ".spec.replicas".to_owned(),
                status_replicas_path: ".status.replicas".to_owned(),
                label_selector_path: Some(".spec.selector".to_owned()),
            }),
            parts: self.parts,
            selectable_fields: Vec::new(),
        })
    }

    fn definition(&self) -> Definition {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Definition {
            group: self.group.to_owned(),
            plural: self.plural.to_owned(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            short_names: texts(self.short_names),
            categories: texts(self.categories),
            namespaced: self.namespaced,
            versions: [self.version].iter().chain(self.older).map(|name| self.version_named(name)).collect(),
            storage_version: self.version.to_owned(),
            verbs: self.verbs.to_vec(),
            built_in: true,
            conversion: None,
            annotations: BTreeMap::new(),
        }
    }
}

/// The warning for each request for `Endpoints`.
const ENDPOINTS: &str = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

const ADMISSION: &str = "admissionregistration.k8s.io";
const NETWORK: &str = "networking.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const DEVICES: &str = "resource.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";

#[rustfmt::skip]
static KINDS: [Kind; 48] = [
    kind("", "Binding", "bindings", &[]).answered(),
    kind("", "Endpoints", "endpoints", &["ep"]).create_on_update(),
    kind("", "LimitRange", "limitranges", &["limits"]).create_on_update(),
    kind("", "Node", "nodes", &["no"]).cluster().status().selectable(&["spec.unschedulable"]),
    kind("", "PersistentVolume", "persistentvolumes", &["pv"]).cluster().status().returns_deleted(),
    kind("", "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"]).status().returns_deleted(),
    kind("", "Pod", "pods", &["po"]).status().all().generation()
        .parts(&[Subresource::EphemeralContainers, Subresource::Resize]).returns_deleted().selectable(&[
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.nominatedNodeName",
    ]),
    kind("", "PodTemplate", "podtemplates", &[]).generation().returns_deleted(),
    kind("", "ReplicationController", "replicationcontrollers", &["rc"]).status().scale().all().generation()
        .selectable(&["status.replicas"]),
    kind("", "ResourceQuota", "resourcequotas", &["quota"]).status().returns_deleted(),
    kind("", "Service", "services", &["svc"]).status().all().create_on_update().returns_deleted()
        .selectable(&["spec.clusterIP", "spec.type"]),
    kind("apps", "ControllerRevision", "controllerrevisions", &[]),
    kind("apps", "DaemonSet", "daemonsets", &["ds"]).status().all().generation(),
    kind("apps", "Deployment", "deployments", &["deploy"]).status().scale().all().generation(),
    kind("apps", "ReplicaSet", "replicasets", &["rs"]).status().scale().all().generation().selectable(&["status.replicas"]),
    kind("apps", "StatefulSet", "statefulsets", &["sts"]).status().scale().all().generation(),
    kind("batch", "CronJob", "cronjobs", &["cj"]).status().all().generation(),
    kind("batch", "Job", "jobs", &[]).status().all().generation().selectable(&["status.successful"]),
    kind("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]).versions("v2", &["v1"]).status().all(),
    kind("policy", "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"]).status().generation().conditional(),
    kind(NETWORK, "Ingress", "ingresses", &["ing"]).status().generation(),
    kind(NETWORK, "IngressClass", "ingressclasses", &[]).cluster().generation(),
    kind(NETWORK, "IPAddress", "ipaddresses", &["ip"]).cluster().selectable(&["spec.parentRef.resource"]),
    kind(NETWORK, "NetworkPolicy", "networkpolicies", &["netpol"]).generation(),
    kind(NETWORK, "ServiceCIDR", "servicecidrs", &[]).cluster().status(),
    kind("discovery.k8s.io", "EndpointSlice", "endpointslices", &[]).generation(),
    kind("node.k8s.io", "RuntimeClass", "runtimeclasses", &[]).cluster().conditional().create_on_update(),
    kind("scheduling.k8s.io", "PriorityClass", "priorityclasses", &["pc"]).cluster(),
    kind(STORAGE, "CSIDriver", "csidrivers", &[]).cluster().conditional().returns_deleted(),
    kind(STORAGE, "CSINode", "csinodes", &[]).cluster().conditional().returns_deleted(),
    kind(STORAGE, "CSIStorageCapacity", "csistoragecapacities", &[]).conditional(),
    kind(STORAGE, "StorageClass", "storageclasses", &["sc"]).cluster().returns_deleted(),
    kind(STORAGE, "VolumeAttachment", "volumeattachments", &[]).cluster().status().conditional().returns_deleted(),
    kind(STORAGE, "VolumeAttributesClass", "volumeattributesclasses", &["vac"]).cluster().returns_deleted(),
    kind(DEVICES, "DeviceClass", "deviceclasses", &[]).cluster().generation().returns_deleted(),
    kind(DEVICES, "ResourceClaim", "resourceclaims", &[]).status().returns_deleted(),
    kind(DEVICES, "ResourceClaimTemplate", "resourceclaimtemplates", &[]).returns_deleted(),
    kind(DEVICES, "ResourceSlice", "resourceslices", &[]).cluster().generation().selectable(&["spec.nodeName", "spec.driver"]).returns_deleted(),
    kind(FLOW, "FlowSchema", "flowschemas", &[]).cluster().status().generation(),
    kind(FLOW, "PriorityLevelConfiguration", "prioritylevelconfigurations", &[]).cluster().status().generation(),
    kind("certificates.k8s.io", "CertificateSigningRequest", "certificatesigningrequests", &["csr"]).cluster().status()
        .parts(&[Subresource::Approval])
        .selectable(&["spec.signerName"]),
    kind("apiregistration.k8s.io", "APIService", "apiservices", &[]).cluster().status().extension().conditional(),
    kind(ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", &[]).cluster().extension().generation().conditional(),
    kind(ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", &[]).cluster().extension().generation().conditional(),
    kind(ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", &[]).cluster().status().extension().generation().conditional(),
    kind(ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", &[]).cluster().extension().generation().conditional(),
    kind(ADMISSION, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", &[]).cluster().extension().generation().conditional(),
    kind(ADMISSION, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", &[]).cluster().extension().generation().conditional(),
];

/// Returns the kind of a definition, or `None` if the definition is not of a built-in kind.
pub(crate) fn find(definition: &Definition) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.group == definition.group && kind.plural == definition.plural)
}

/// Returns the definitions of all kinds, built once for all registries of the process.
pub(crate) fn definitions() -> &'static [Definition] {
    static DEFINITIONS: LazyLock<Vec<Definition>> =
        LazyLock::new(|| KINDS.iter().map(Kind::definition).collect());
    &DEFINITIONS
}
