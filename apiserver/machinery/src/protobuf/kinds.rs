//! The messages of built-in kinds: field numbers and names, as `generated.proto` of `k8s.io/api` and `k8s.io/apimachinery`
//! declare them.

/// A message.
#[derive(Debug)]
pub struct Message(pub &'static [Field]);

/// A field of a message.
#[derive(Debug)]
pub struct Field {
    /// Its number on the wire.
    pub number: u64,
    /// Its name in JSON.
    pub name: &'static str,
    /// What it holds.
    pub ty: Type,
    /// How often, and whether zero counts.
    pub kind: Kind,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Type {
    /// A text.
    Text,
    /// Bytes, base64 in JSON.
    Bytes,
    /// An integer.
    Integer,
    /// A boolean.
    Boolean,
    /// `metav1.Time`
    Time,
    /// `metav1.MicroTime`
    MicroTime,
    /// JSON in bytes (`FieldsV1`).
    RawJson,
    /// A message that is a list of texts in JSON (`ExtraValue`).
    Texts,
    /// A message.
    Message(&'static Message),
}

/// How often a field occurs.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Once; zero is left out.
    Plain,
    /// At most once; zero counts.
    Optional,
    /// Any number of times.
    List,
    /// Entries of a map with texts as keys.
    Map,
    /// Once; its fields stand in the outer object.
    Inline,
}

const fn field(number: u64, name: &'static str, ty: Type, kind: Kind) -> Field {
    Field { number, name, ty, kind }
}

/// The message of a kind; the version of a group does not matter, only which group it is.
pub fn find(api_version: &str, kind: &str) -> Option<&'static Message> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Some(match (group, kind) {
        // DeleteOptions may stand in any group.
        (_, "DeleteOptions") => &DELETE_OPTIONS,
        ("", "Namespace") => &NAMESPACE,
        ("", "Secret") => &SECRET,
        ("", "ConfigMap") => &CONFIG_MAP,
        ("", "ServiceAccount") => &SERVICE_ACCOUNT,
        ("", "Event") => &CORE_EVENT,
        ("events.k8s.io", "Event") => &EVENT,
        ("coordination.k8s.io", "Lease") => &LEASE,
        ("authentication.k8s.io", "TokenRequest") => &TOKEN_REQUEST,
        ("authentication.k8s.io", "TokenReview") => &TOKEN_REVIEW,
        ("authentication.k8s.io", "SelfSubjectReview") => &SELF_REVIEW,
        (
            "authorization.k8s.io",
            "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview",
        ) => &ACCESS_REVIEW,
        ("authorization.k8s.io", "SelfSubjectRulesReview") => &RULES_REVIEW,
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => &ROLE,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => &BINDING,
        ("autoscaling", "Scale") => &SCALE,
        ("policy", "Eviction") => &EVICTION,
        ("meta.k8s.io", "PartialObjectMetadata") => &ONLY_META,
        ("", "APIVersions") => &API_VERSIONS,
        ("", "APIGroup") => &API_GROUP,
        ("", "APIGroupList") => &API_GROUP_LIST,
        ("", "APIResourceList") => &API_RESOURCE_LIST,
        _ => return None,
    })
}

static TYPE_META: Message =
    Message(&[field(1, "apiVersion", Type::Text, Kind::Plain), field(2, "kind", Type::Text, Kind::Plain)]);

/// `runtime.Unknown`
pub static UNKNOWN: Message = Message(&[
    field(1, "typeMeta", Type::Message(&TYPE_META), Kind::Inline),
    field(2, "raw", Type::Bytes, Kind::Optional),
]);

/// `FieldsV1`
pub static RAW: Message = Message(&[field(1, "raw", Type::Bytes, Kind::Plain)]);

/// A list of texts as a message.
pub static ITEMS: Message = Message(&[field(1, "items", Type::Text, Kind::List)]);

static OBJECT_META: Message = Message(&[
    field(1, "name", Type::Text, Kind::Plain),
    field(2, "generateName", Type::Text, Kind::Plain),
    field(3, "namespace", Type::Text, Kind::Plain),
    field(4, "selfLink", Type::Text, Kind::Plain),
    field(5, "uid", Type::Text, Kind::Plain),
    field(6, "resourceVersion", Type::Text, Kind::Plain),
    field(7, "generation", Type::Integer, Kind::Plain),
    field(8, "creationTimestamp", Type::Time, Kind::Plain),
    field(9, "deletionTimestamp", Type::Time, Kind::Plain),
    field(10, "deletionGracePeriodSeconds", Type::Integer, Kind::Optional),
    field(11, "labels", Type::Text, Kind::Map),
    field(12, "annotations", Type::Text, Kind::Map),
    field(13, "ownerReferences", Type::Message(&OWNER_REFERENCE), Kind::List),
    field(14, "finalizers", Type::Text, Kind::List),
    field(17, "managedFields", Type::Message(&MANAGED_FIELDS), Kind::List),
]);

static OWNER_REFERENCE: Message = Message(&[
    field(1, "kind", Type::Text, Kind::Plain),
    field(3, "name", Type::Text, Kind::Plain),
    field(4, "uid", Type::Text, Kind::Plain),
    field(5, "apiVersion", Type::Text, Kind::Plain),
    field(6, "controller", Type::Boolean, Kind::Optional),
    field(7, "blockOwnerDeletion", Type::Boolean, Kind::Optional),
]);

static MANAGED_FIELDS: Message = Message(&[
    field(1, "manager", Type::Text, Kind::Plain),
    field(2, "operation", Type::Text, Kind::Plain),
    field(3, "apiVersion", Type::Text, Kind::Plain),
    field(4, "time", Type::Time, Kind::Plain),
    field(6, "fieldsType", Type::Text, Kind::Plain),
    field(7, "fieldsV1", Type::RawJson, Kind::Plain),
    field(8, "subresource", Type::Text, Kind::Plain),
]);

static DELETE_OPTIONS: Message = Message(&[
    field(1, "gracePeriodSeconds", Type::Integer, Kind::Optional),
    field(2, "preconditions", Type::Message(&PRECONDITIONS), Kind::Optional),
    field(3, "orphanDependents", Type::Boolean, Kind::Optional),
    field(4, "propagationPolicy", Type::Text, Kind::Optional),
    field(5, "dryRun", Type::Text, Kind::List),
    field(6, "ignoreStoreReadErrorWithClusterBreakingPotential", Type::Boolean, Kind::Optional),
]);

static PRECONDITIONS: Message = Message(&[
    field(1, "uid", Type::Text, Kind::Optional),
    field(2, "resourceVersion", Type::Text, Kind::Optional),
]);

static LABEL_SELECTOR: Message = Message(&[
    field(1, "matchLabels", Type::Text, Kind::Map),
    field(2, "matchExpressions", Type::Message(&SELECTOR_REQUIREMENT), Kind::List),
]);

static SELECTOR_REQUIREMENT: Message = Message(&[
    field(1, "key", Type::Text, Kind::Plain),
    field(2, "operator", Type::Text, Kind::Plain),
    field(3, "values", Type::Text, Kind::List),
]);

static CONDITION: Message = Message(&[
    field(1, "type", Type::Text, Kind::Plain),
    field(2, "status", Type::Text, Kind::Plain),
    field(4, "lastTransitionTime", Type::Time, Kind::Plain),
    field(5, "reason", Type::Text, Kind::Plain),
    field(6, "message", Type::Text, Kind::Plain),
]);

static NAMESPACE: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "spec", Type::Message(&ITEMS_FINALIZERS), Kind::Plain),
    field(3, "status", Type::Message(&NAMESPACE_STATUS), Kind::Plain),
]);

static ITEMS_FINALIZERS: Message = Message(&[field(1, "finalizers", Type::Text, Kind::List)]);

static NAMESPACE_STATUS: Message = Message(&[
    field(1, "phase", Type::Text, Kind::Plain),
    field(2, "conditions", Type::Message(&CONDITION), Kind::List),
]);

static SECRET: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "data", Type::Bytes, Kind::Map),
    field(3, "type", Type::Text, Kind::Plain),
    field(4, "stringData", Type::Text, Kind::Map),
    field(5, "immutable", Type::Boolean, Kind::Optional),
]);

static CONFIG_MAP: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "data", Type::Text, Kind::Map),
    field(3, "binaryData", Type::Bytes, Kind::Map),
    field(4, "immutable", Type::Boolean, Kind::Optional),
]);

static SERVICE_ACCOUNT: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "secrets", Type::Message(&OBJECT_REFERENCE), Kind::List),
    field(3, "imagePullSecrets", Type::Message(&LOCAL_REFERENCE), Kind::List),
    field(4, "automountServiceAccountToken", Type::Boolean, Kind::Optional),
]);

static OBJECT_REFERENCE: Message = Message(&[
    field(1, "kind", Type::Text, Kind::Plain),
    field(2, "namespace", Type::Text, Kind::Plain),
    field(3, "name", Type::Text, Kind::Plain),
    field(4, "uid", Type::Text, Kind::Plain),
    field(5, "apiVersion", Type::Text, Kind::Plain),
    field(6, "resourceVersion", Type::Text, Kind::Plain),
    field(7, "fieldPath", Type::Text, Kind::Plain),
]);

static LOCAL_REFERENCE: Message = Message(&[field(1, "name", Type::Text, Kind::Plain)]);

static CORE_EVENT: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "involvedObject", Type::Message(&OBJECT_REFERENCE), Kind::Plain),
    field(3, "reason", Type::Text, Kind::Plain),
    field(4, "message", Type::Text, Kind::Plain),
    field(5, "source", Type::Message(&EVENT_SOURCE), Kind::Plain),
    field(6, "firstTimestamp", Type::Time, Kind::Plain),
    field(7, "lastTimestamp", Type::Time, Kind::Plain),
    field(8, "count", Type::Integer, Kind::Plain),
    field(9, "type", Type::Text, Kind::Plain),
    field(10, "eventTime", Type::MicroTime, Kind::Plain),
    field(11, "series", Type::Message(&EVENT_SERIES), Kind::Optional),
    field(12, "action", Type::Text, Kind::Plain),
    field(13, "related", Type::Message(&OBJECT_REFERENCE), Kind::Optional),
    field(14, "reportingComponent", Type::Text, Kind::Plain),
    field(15, "reportingInstance", Type::Text, Kind::Plain),
]);

static EVENT_SOURCE: Message =
    Message(&[field(1, "component", Type::Text, Kind::Plain), field(2, "host", Type::Text, Kind::Plain)]);

static EVENT_SERIES: Message = Message(&[
    field(1, "count", Type::Integer, Kind::Plain),
    field(2, "lastObservedTime", Type::MicroTime, Kind::Plain),
]);

static EVENT: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "eventTime", Type::MicroTime, Kind::Plain),
    field(3, "series", Type::Message(&EVENT_SERIES), Kind::Optional),
    field(4, "reportingController", Type::Text, Kind::Plain),
    field(5, "reportingInstance", Type::Text, Kind::Plain),
    field(6, "action", Type::Text, Kind::Plain),
    field(7, "reason", Type::Text, Kind::Plain),
    field(8, "regarding", Type::Message(&OBJECT_REFERENCE), Kind::Plain),
    field(9, "related", Type::Message(&OBJECT_REFERENCE), Kind::Optional),
    field(10, "note", Type::Text, Kind::Plain),
    field(11, "type", Type::Text, Kind::Plain),
    field(12, "deprecatedSource", Type::Message(&EVENT_SOURCE), Kind::Plain),
    field(13, "deprecatedFirstTimestamp", Type::Time, Kind::Plain),
    field(14, "deprecatedLastTimestamp", Type::Time, Kind::Plain),
    field(15, "deprecatedCount", Type::Integer, Kind::Plain),
]);

static LEASE: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "spec", Type::Message(&LEASE_SPEC), Kind::Plain),
]);

static LEASE_SPEC: Message = Message(&[
    field(1, "holderIdentity", Type::Text, Kind::Optional),
    field(2, "leaseDurationSeconds", Type::Integer, Kind::Optional),
    field(3, "acquireTime", Type::MicroTime, Kind::Optional),
    field(4, "renewTime", Type::MicroTime, Kind::Optional),
    field(5, "leaseTransitions", Type::Integer, Kind::Optional),
    field(6, "strategy", Type::Text, Kind::Optional),
    field(7, "preferredHolder", Type::Text, Kind::Optional),
]);

static TOKEN_REQUEST: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "spec", Type::Message(&TOKEN_REQUEST_SPEC), Kind::Plain),
    field(3, "status", Type::Message(&TOKEN_REQUEST_STATUS), Kind::Plain),
]);

static TOKEN_REQUEST_STATUS: Message = Message(&[
    field(1, "token", Type::Text, Kind::Plain),
    field(2, "expirationTimestamp", Type::Time, Kind::Plain),
]);

static SELF_REVIEW: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "status", Type::Message(&SELF_REVIEW_STATUS), Kind::Plain),
]);

static SELF_REVIEW_STATUS: Message = Message(&[field(1, "userInfo", Type::Message(&USER_INFO), Kind::Plain)]);

static USER_INFO: Message = Message(&[
    field(1, "username", Type::Text, Kind::Plain),
    field(2, "uid", Type::Text, Kind::Plain),
    field(3, "groups", Type::Text, Kind::List),
    field(4, "extra", Type::Texts, Kind::Map),
]);

/// `metav1.ListMeta`
pub static LIST_META: Message = Message(&[
    field(1, "selfLink", Type::Text, Kind::Plain),
    field(2, "resourceVersion", Type::Text, Kind::Plain),
    field(3, "continue", Type::Text, Kind::Plain),
    field(4, "remainingItemCount", Type::Integer, Kind::Optional),
]);

static API_VERSIONS: Message = Message(&[
    field(1, "versions", Type::Text, Kind::List),
    field(2, "serverAddressByClientCIDRs", Type::Message(&SERVER_ADDRESS), Kind::List),
]);

static SERVER_ADDRESS: Message = Message(&[
    field(1, "clientCIDR", Type::Text, Kind::Plain),
    field(2, "serverAddress", Type::Text, Kind::Plain),
]);

static API_GROUP_LIST: Message = Message(&[field(1, "groups", Type::Message(&API_GROUP), Kind::List)]);

static API_GROUP: Message = Message(&[
    field(1, "name", Type::Text, Kind::Plain),
    field(2, "versions", Type::Message(&GROUP_VERSION), Kind::List),
    field(3, "preferredVersion", Type::Message(&GROUP_VERSION), Kind::Plain),
    field(4, "serverAddressByClientCIDRs", Type::Message(&SERVER_ADDRESS), Kind::List),
]);

static GROUP_VERSION: Message = Message(&[
    field(1, "groupVersion", Type::Text, Kind::Plain),
    field(2, "version", Type::Text, Kind::Plain),
]);

static API_RESOURCE_LIST: Message = Message(&[
    field(1, "groupVersion", Type::Text, Kind::Plain),
    field(2, "resources", Type::Message(&API_RESOURCE), Kind::List),
]);

static API_RESOURCE: Message = Message(&[
    field(1, "name", Type::Text, Kind::Plain),
    field(2, "namespaced", Type::Boolean, Kind::Plain),
    field(3, "kind", Type::Text, Kind::Plain),
    field(4, "verbs", Type::Texts, Kind::Optional),
    field(5, "shortNames", Type::Text, Kind::List),
    field(6, "singularName", Type::Text, Kind::Plain),
    field(7, "categories", Type::Text, Kind::List),
    field(8, "group", Type::Text, Kind::Plain),
    field(9, "version", Type::Text, Kind::Plain),
    field(10, "storageVersionHash", Type::Text, Kind::Plain),
]);

static TOKEN_REQUEST_SPEC: Message = Message(&[
    field(1, "audiences", Type::Text, Kind::List),
    field(3, "boundObjectRef", Type::Message(&BOUND_REFERENCE), Kind::Optional),
    field(4, "expirationSeconds", Type::Integer, Kind::Optional),
]);

static BOUND_REFERENCE: Message = Message(&[
    field(1, "kind", Type::Text, Kind::Plain),
    field(2, "apiVersion", Type::Text, Kind::Plain),
    field(3, "name", Type::Text, Kind::Plain),
    field(4, "uid", Type::Text, Kind::Plain),
]);

static TOKEN_REVIEW: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "spec", Type::Message(&TOKEN_REVIEW_SPEC), Kind::Plain),
    field(3, "status", Type::Message(&TOKEN_REVIEW_STATUS), Kind::Plain),
]);

static TOKEN_REVIEW_STATUS: Message = Message(&[
    field(1, "authenticated", Type::Boolean, Kind::Plain),
    field(2, "user", Type::Message(&USER_INFO), Kind::Plain),
    field(3, "error", Type::Text, Kind::Plain),
    field(4, "audiences", Type::Text, Kind::List),
]);

static TOKEN_REVIEW_SPEC: Message =
    Message(&[field(1, "token", Type::Text, Kind::Plain), field(2, "audiences", Type::Text, Kind::List)]);

static ONLY_META: Message = Message(&[field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain)]);

static ACCESS_REVIEW: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "spec", Type::Message(&ACCESS_REVIEW_SPEC), Kind::Plain),
    field(3, "status", Type::Message(&ACCESS_REVIEW_STATUS), Kind::Plain),
]);

static ACCESS_REVIEW_STATUS: Message = Message(&[
    field(1, "allowed", Type::Boolean, Kind::Plain),
    field(2, "reason", Type::Text, Kind::Plain),
    field(3, "evaluationError", Type::Text, Kind::Plain),
    field(4, "denied", Type::Boolean, Kind::Plain),
]);

static ACCESS_REVIEW_SPEC: Message = Message(&[
    field(1, "resourceAttributes", Type::Message(&RESOURCE_ATTRIBUTES), Kind::Optional),
    field(2, "nonResourceAttributes", Type::Message(&PATH_ATTRIBUTES), Kind::Optional),
    field(3, "user", Type::Text, Kind::Plain),
    field(4, "groups", Type::Text, Kind::List),
    field(5, "extra", Type::Texts, Kind::Map),
    field(6, "uid", Type::Text, Kind::Plain),
]);

static RESOURCE_ATTRIBUTES: Message = Message(&[
    field(1, "namespace", Type::Text, Kind::Plain),
    field(2, "verb", Type::Text, Kind::Plain),
    field(3, "group", Type::Text, Kind::Plain),
    field(4, "version", Type::Text, Kind::Plain),
    field(5, "resource", Type::Text, Kind::Plain),
    field(6, "subresource", Type::Text, Kind::Plain),
    field(7, "name", Type::Text, Kind::Plain),
    field(8, "fieldSelector", Type::Message(&SELECTOR_ATTRIBUTES), Kind::Optional),
    field(9, "labelSelector", Type::Message(&SELECTOR_ATTRIBUTES), Kind::Optional),
]);

static SELECTOR_ATTRIBUTES: Message = Message(&[
    field(1, "rawSelector", Type::Text, Kind::Plain),
    field(2, "requirements", Type::Message(&SELECTOR_REQUIREMENT), Kind::List),
]);

static PATH_ATTRIBUTES: Message =
    Message(&[field(1, "path", Type::Text, Kind::Plain), field(2, "verb", Type::Text, Kind::Plain)]);

static RULES_REVIEW: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "spec", Type::Message(&RULES_REVIEW_SPEC), Kind::Plain),
    field(3, "status", Type::Message(&RULES_REVIEW_STATUS), Kind::Plain),
]);

static RULES_REVIEW_STATUS: Message = Message(&[
    field(1, "resourceRules", Type::Message(&RESOURCE_RULE), Kind::List),
    field(2, "nonResourceRules", Type::Message(&PATH_RULE), Kind::List),
    field(3, "incomplete", Type::Boolean, Kind::Plain),
    field(4, "evaluationError", Type::Text, Kind::Plain),
]);

static RESOURCE_RULE: Message = Message(&[
    field(1, "verbs", Type::Text, Kind::List),
    field(2, "apiGroups", Type::Text, Kind::List),
    field(3, "resources", Type::Text, Kind::List),
    field(4, "resourceNames", Type::Text, Kind::List),
]);

static PATH_RULE: Message = Message(&[
    field(1, "verbs", Type::Text, Kind::List),
    field(2, "nonResourceURLs", Type::Text, Kind::List),
]);

static RULES_REVIEW_SPEC: Message = Message(&[field(1, "namespace", Type::Text, Kind::Plain)]);

static ROLE: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "rules", Type::Message(&POLICY_RULE), Kind::List),
    field(3, "aggregationRule", Type::Message(&AGGREGATION_RULE), Kind::Optional),
]);

static AGGREGATION_RULE: Message =
    Message(&[field(1, "clusterRoleSelectors", Type::Message(&LABEL_SELECTOR), Kind::List)]);

static POLICY_RULE: Message = Message(&[
    field(1, "verbs", Type::Text, Kind::List),
    field(2, "apiGroups", Type::Text, Kind::List),
    field(3, "resources", Type::Text, Kind::List),
    field(4, "resourceNames", Type::Text, Kind::List),
    field(5, "nonResourceURLs", Type::Text, Kind::List),
]);

static BINDING: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "subjects", Type::Message(&SUBJECT), Kind::List),
    field(3, "roleRef", Type::Message(&ROLE_REF), Kind::Plain),
]);

static SUBJECT: Message = Message(&[
    field(1, "kind", Type::Text, Kind::Plain),
    field(2, "apiGroup", Type::Text, Kind::Plain),
    field(3, "name", Type::Text, Kind::Plain),
    field(4, "namespace", Type::Text, Kind::Plain),
]);

static ROLE_REF: Message = Message(&[
    field(1, "apiGroup", Type::Text, Kind::Plain),
    field(2, "kind", Type::Text, Kind::Plain),
    field(3, "name", Type::Text, Kind::Plain),
]);

static SCALE: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "spec", Type::Message(&REPLICAS), Kind::Plain),
    field(3, "status", Type::Message(&SCALE_STATUS), Kind::Plain),
]);

static REPLICAS: Message = Message(&[field(1, "replicas", Type::Integer, Kind::Plain)]);

static SCALE_STATUS: Message = Message(&[
    field(1, "replicas", Type::Integer, Kind::Plain),
    field(2, "selector", Type::Text, Kind::Plain),
]);

static EVICTION: Message = Message(&[
    field(1, "metadata", Type::Message(&OBJECT_META), Kind::Plain),
    field(2, "deleteOptions", Type::Message(&DELETE_OPTIONS), Kind::Optional),
]);
