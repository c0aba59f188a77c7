//! Further versions of built-in kinds that kube-apiserver can decode, most of which it does not serve. A body
//! in one of them is refused because its version differs, not because it is unknown.

/// Each version with its kinds.
const OLDER: [(&str, &[&str]); 34] = [
    ("admissionregistration.k8s.io/v1alpha1", ADMISSION),
    ("admissionregistration.k8s.io/v1beta1", ADMISSION),
    ("apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1beta1", &["APIService"]),
    ("apps/v1beta1", &["ControllerRevision", "Deployment", "StatefulSet"]),
    ("apps/v1beta2", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("authentication.k8s.io/v1alpha1", &["SelfSubjectReview"]),
    ("authentication.k8s.io/v1beta1", &["SelfSubjectReview", "TokenReview"]),
    (
        "authorization.k8s.io/v1beta1",
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
    ("autoscaling/v1", &["HorizontalPodAutoscaler"]),
    ("batch/v1beta1", &["CronJob"]),
    ("certificates.k8s.io/v1beta1", &["CertificateSigningRequest"]),
    ("coordination.k8s.io/v1beta1", &["Lease"]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"]),
    ("events.k8s.io/v1", &["Event"]),
    ("events.k8s.io/v1beta1", &["Event"]),
    ("extensions/v1beta1", &["DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"]),
    ("flowcontrol.apiserver.k8s.io/v1beta1", FLOWS),
    ("flowcontrol.apiserver.k8s.io/v1beta2", FLOWS),
    ("flowcontrol.apiserver.k8s.io/v1beta3", FLOWS),
    ("networking.k8s.io/v1beta1", &["IPAddress", "Ingress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io/v1alpha1", &["RuntimeClass"]),
    ("node.k8s.io/v1beta1", &["RuntimeClass"]),
    ("policy/v1beta1", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io/v1alpha1", ROLES),
    ("rbac.authorization.k8s.io/v1beta1", ROLES),
    ("resource.k8s.io/v1alpha3", &["DeviceTaintRule"]),
    ("resource.k8s.io/v1beta1", RESOURCES),
    ("resource.k8s.io/v1beta2", RESOURCES),
    ("scheduling.k8s.io/v1alpha1", &["PriorityClass"]),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"]),
    ("v1", &["Event"]),
    ("storage.k8s.io/v1alpha1", &["CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"]),
    (
        "storage.k8s.io/v1beta1",
        &[
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
];

const ADMISSION: &[&str] = &[
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];
const FLOWS: &[&str] = &["FlowSchema", "PriorityLevelConfiguration"];
const ROLES: &[&str] = &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
const RESOURCES: &[&str] = &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"];

/// Returns whether the kind exists in that version.
pub(crate) fn has(api_version: &str, kind: &str) -> bool {
    OLDER.iter().any(|(version, kinds)| *version == api_version && kinds.contains(&kind))
}
