//! Types with declared fields: the admission request, the namespace of a request, and the variables of a policy. Their
//! fields have the names of kube-apiserver's declarations, which are not escaped.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::declarations::read;
use crate::limits::MAX_CEL_DEPTH;
use crate::types::Type;

/// The type of `request`.
pub(crate) const REQUEST: &str = "kubernetes.AdmissionRequest";
/// The type of `namespaceObject`.
pub(crate) const NAMESPACE: &str = "kubernetes.Namespace";
/// The type of `authorizer`.
pub(crate) const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
/// The type of `authorizer.path("/healthz")`.
pub(crate) const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
/// The type of `authorizer.group("apps")`.
pub(crate) const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
/// The type of `authorizer.requestResource`.
pub(crate) const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
/// The type of the answer of `check`.
pub(crate) const DECISION: &str = "kubernetes.authorization.Decision";

/// The type of an operation of a JSON patch.
pub(crate) const JSON_PATCH: &str = "JSONPatch";
/// The type of an object to be applied. The types of what is in it have the names of its fields: `Object.spec.template`.
pub(crate) const OBJECT: &str = "Object";

/// The fields of `variables`, which are declared one after the other.
pub(crate) type Fields<'s> = Rc<BTreeMap<Arc<str>, Type<'s>>>;

/// A type by its name, with its fields and their types.
type Declared = (&'static str, &'static [(&'static str, &'static str)]);

const DECLARED: [Declared; 9] = [
    (
        REQUEST,
        &[
            ("kind", KIND),
            ("resource", RESOURCE),
            ("subResource", "string"),
            ("requestKind", KIND),
            ("requestResource", RESOURCE),
            ("requestSubResource", "string"),
            ("name", "string"),
            ("namespace", "string"),
            ("operation", "string"),
            ("userInfo", USER),
            ("dryRun", "bool"),
            ("options", "dyn"),
        ],
    ),
    (KIND, &[("group", "string"), ("version", "string"), ("kind", "string")]),
    (RESOURCE, &[("group", "string"), ("version", "string"), ("resource", "string")]),
    (
        USER,
        &[
            ("username", "string"),
            ("uid", "string"),
            ("groups", "list(string)"),
            ("extra", "map(string, list(string))"),
        ],
    ),
    (NAMESPACE, &[("metadata", METADATA), ("spec", SPEC), ("status", STATUS)]),
    (
        METADATA,
        &[
            ("name", "string"),
            ("generateName", "string"),
            ("namespace", "string"),
            ("labels", "map(string, string)"),
            ("annotations", "map(string, string)"),
            ("UID", "string"),
            ("creationTimestamp", "timestamp"),
            ("deletionGracePeriodSeconds", "int"),
            ("deletionTimestamp", "timestamp"),
            ("generation", "int"),
            ("resourceVersion", "string"),
            ("finalizers", "list(string)"),
        ],
    ),
    (SPEC, &[("finalizers", "list(string)")]),
    (STATUS, &[("conditions", "list(kubernetes.NamespaceCondition)"), ("phase", "string")]),
    (
        "kubernetes.NamespaceCondition",
        &[
            ("status", "string"),
            ("type", "string"),
            ("lastTransitionTime", "timestamp"),
            ("message", "string"),
            ("reason", "string"),
        ],
    ),
];

const KIND: &str = "kubernetes.GroupVersionKind";
const RESOURCE: &str = "kubernetes.GroupVersionResource";
const USER: &str = "kubernetes.UserInfo";
const METADATA: &str = "kubernetes.NamespaceMetadata";
const SPEC: &str = "kubernetes.NamespaceSpec";
const STATUS: &str = "kubernetes.NamespaceStatus";

/// Returns whether a type has declared fields.
pub(crate) fn has_fields(name: &str) -> bool {
    DECLARED.iter().any(|(declared, _)| *declared == name)
}

/// Returns the type of a field of a type.
pub(crate) fn field<'s>(name: &str, field: &str) -> Option<Type<'s>> {
    let (_, fields) = DECLARED.iter().find(|(declared, _)| *declared == name)?;
    fields.iter().find(|(known, _)| *known == field).and_then(|(_, text)| read(text))
}

/// Returns the type of the objects that an expression makes by this name; `None` if there is no such type.
pub(crate) fn made<'s>(name: &str) -> Option<Type<'s>> {
    let is_object = name.strip_prefix(OBJECT).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    (is_object || name == JSON_PATCH).then(|| Type::Made(name.into()))
}

/// Returns the type of a field of an object that an expression makes. Those that are applied may have any field; the server checks them
/// when it applies them.
pub(crate) fn field_made<'s>(name: &str, field: &str) -> Option<Type<'s>> {
    match field {
        _ if name != JSON_PATCH => Some(Type::Dyn),
        "op" | "path" | "from" => Some(Type::Simple("string")),
        "value" => Some(Type::Dyn),
        _ => None,
    }
}

/// Returns the type that a variable of a policy has in other expressions, which is simpler than that of its value.
pub(crate) fn simplified<'s>(found: &Type<'s>) -> Type<'s> {
    simplified_within(found, MAX_CEL_DEPTH)
}

/// Types that are nested more deeply become `dyn`. A variable of lists of another variable is nested more deeply than any
/// expression.
fn simplified_within<'s>(found: &Type<'s>, levels: usize) -> Type<'s> {
    const KEPT: [&str; 9] = [
        "bool",
        "bytes",
        "double",
        "int",
        "null_type",
        "string",
        "uint",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
    ];
    match found {
        Type::Simple(name) if KEPT.contains(name) => found.clone(),
        _ if levels == 0 => Type::Dyn,
        Type::List(item) => Type::List(Rc::new(simplified_within(item, levels - 1))),
        Type::Map(key, value) => Type::Map(
            Rc::new(simplified_within(key, levels - 1)),
            Rc::new(simplified_within(value, levels - 1)),
        ),
        _ => Type::Dyn,
    }
}
