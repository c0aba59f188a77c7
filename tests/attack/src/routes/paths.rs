//! Generates requests for every route in every scope, and for paths that only resemble routes.

use http::Method;
use serde_json::json;

use super::discovery::Resource;
use crate::caller::Ask;
use crate::lab::{MINE, OTHER, PLANTED};

/// A request of the scenario.
#[derive(Clone)]
pub struct Case {
    /// The request to send.
    pub ask: Ask,
    /// Whether a regular client would use the path; then an allowed request must succeed, too.
    pub is_plain: bool,
}

/// Subresources that some resource has, requested on every resource.
const SUBRESOURCES: &[&str] = &[
    "status",
    "scale",
    "finalize",
    "eviction",
    "binding",
    "log",
    "exec",
    "attach",
    "portforward",
    "proxy",
    "token",
    "approval",
    "ephemeralcontainers",
    "resize",
];

/// Returns requests with every method, with bodies that would do damage.
fn methods(target: &str, resource: &Resource, name: &str) -> Vec<Ask> {
    let separator = if target.contains('?') { '&' } else { '?' };
    let object = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind,
        "metadata": {"name": name, "labels": {"attacked": "yes"}},
    });
    let merge = json!({"metadata": {"labels": {"attacked": "yes"}, "finalizers": ["attack.io/held"]}});
    let json = "application/json";
    vec![
        Ask::new(Method::GET, target),
        Ask::new(Method::HEAD, target),
        Ask::new(Method::GET, format!("{target}{separator}watch=true&timeoutSeconds=1")),
        Ask::new(Method::POST, target).body(json, object.to_string()),
        Ask::new(Method::PUT, target).body(json, object.to_string()),
        Ask::new(Method::PATCH, target).body("application/merge-patch+json", merge.to_string()),
        Ask::new(Method::PATCH, format!("{target}{separator}fieldManager=attack&force=true"))
            .body("application/apply-patch+yaml", object.to_string()),
        Ask::new(Method::DELETE, target),
        Ask::new(Method::OPTIONS, target),
    ]
}

/// Returns every route of a resource: in the tenant's namespace, in another, and in none; the collection, an
/// object, and its subresources.
pub fn routes(resource: &Resource, existing: &str) -> Vec<Case> {
    let root = resource.root();
    let plural = &resource.plural;
    let mut all = Vec::new();
    let mut add = |target: String, name: &str, is_plain: bool| {
        all.extend(methods(&target, resource, name).into_iter().map(|ask| Case { ask, is_plain }));
    };
    let is_right = |namespace: &str| resource.is_namespaced != namespace.is_empty();
    for namespace in ["", MINE, OTHER] {
        let collection = match namespace {
            "" => format!("{root}/{plural}"),
            namespace => format!("{root}/namespaces/{namespace}/{plural}"),
        };
        add(collection.clone(), PLANTED, is_right(namespace));
        add(format!("{collection}?fieldSelector=metadata.name%3D{existing}"), existing, false);
        add(format!("{collection}/{existing}"), existing, is_right(namespace));
        if existing != PLANTED && is_right(namespace) {
            add(format!("{collection}/{PLANTED}"), PLANTED, true);
        }
        for subresource in SUBRESOURCES {
            let is_discovered = resource.subresources.contains(*subresource);
            if is_discovered || namespace == OTHER {
                let is_plain = is_right(namespace) && is_discovered;
                add(format!("{collection}/{existing}/{subresource}"), existing, is_plain);
            }
        }
    }
    all
}

/// Returns paths that a handler might interpret differently from the authorization.
pub fn mutations(resource: &Resource, existing: &str) -> Vec<Case> {
    let (root, plural) = (resource.root(), &resource.plural);
    let right = resource.collection(OTHER);
    let part = format!("{plural}/{existing}");
    let mut targets = vec![
        format!("{root}/namespaces/{MINE}/namespaces/{OTHER}/{part}"),
        format!("{root}/namespaces/{MINE}/namespaces/{OTHER}"),
        format!("{root}/namespaces/{MINE}/namespaces/{OTHER}/status"),
        format!("{root}/namespaces/{MINE}/namespaces/{OTHER}/finalize"),
        format!("{root}/namespaces/{MINE}/namespaces"),
        format!("{root}/namespaces/{MINE}/{plural}/../../{OTHER}/{part}"),
        format!("{root}/namespaces/{MINE}%2F..%2F{OTHER}/{part}"),
        format!("{root}/namespaces/{MINE}/../{OTHER}/{part}"),
        format!("{root}/namespaces/{MINE}/{plural}/..%2f..%2f{OTHER}%2f{plural}%2f{existing}"),
        format!("{root}/namespaces/{MINE}//{part}"),
        format!("{root}/namespaces//{part}"),
        format!("{root}//namespaces/{OTHER}/{part}"),
        format!("{root}/namespaces/%20{OTHER}/{part}"),
        format!("{root}/namespaces/{MINE}%00{OTHER}/{part}"),
        format!("{root}/namespaces/{MINE},{OTHER}/{part}"),
        format!("{root}/namespaces/*/{part}"),
        format!("{root}/namespaces/{MINE};{OTHER}/{part}"),
        format!("{root}/Namespaces/{OTHER}/{part}"),
        format!("{root}/namespaces/{}/{part}", OTHER.to_uppercase()),
        format!("{root}/namespaces/{OTHER}/{}/{existing}", plural.to_uppercase()),
        format!("{root}/namespaces/{MINE}/{part}/{OTHER}/{existing}"),
        format!("{root}/namespaces/{MINE}/{part}/status/../../../../{OTHER}/{part}"),
        format!("{root}/watch/namespaces/{OTHER}/{part}"),
        format!("{root}/watch/{plural}"),
        format!("{root}/watch/namespaces/{MINE}/namespaces/{OTHER}"),
        format!("{root}/proxy/namespaces/{OTHER}/{part}"),
        format!("{right}/{existing}/"),
        format!("/{right}/{existing}"),
        format!("{right}//{existing}"),
        format!("{right}/{existing}%2Fstatus"),
        format!("{right}?namespace={MINE}"),
        format!("{right}/{existing}?namespace={MINE}&fieldSelector=metadata.namespace%3D{MINE}"),
        format!("{right}?fieldSelector=metadata.name%3D{existing},metadata.namespace%3D{MINE}"),
        format!("{}?fieldSelector=metadata.namespace%3D{MINE}", resource.collection("")),
        format!("{}?fieldSelector=metadata.namespace%3D{OTHER}", resource.collection(MINE)),
        format!("{right}?watch=1&timeoutSeconds=1&watch=0"),
        format!("{right}/{existing}?watch=1&timeoutSeconds=1"),
        format!("{right}?dryRun=All"),
        format!("{right}/{existing}?dryRun=All"),
        right.replace("/namespaces/", "/n%61mespaces/"),
        right.replace("/api", "/%61pi"),
    ];
    if resource.plural == "namespaces" {
        targets.push(format!("{root}/namespaces/{MINE}/namespaces/{OTHER}?dryRun=All"));
        targets.push(format!("{root}/namespaces/{MINE}/namespaces/{OTHER}/"));
        targets.push(format!("{root}/namespaces/status/namespaces/{OTHER}"));
    }
    let all = targets.iter().flat_map(|target| methods(target, resource, existing));
    all.map(|ask| Case { ask, is_plain: false }).collect()
}

/// Returns non-resource paths.
pub fn others() -> Vec<Case> {
    let paths = [
        "/",
        "/api",
        "/apis",
        "/api/v1",
        "/api/v2",
        "/version",
        "/version/",
        "/healthz",
        "/livez",
        "/readyz",
        "/livez/ping",
        "/livez?verbose",
        "/readyz/etcd",
        "/metrics",
        "/metrics/",
        "/openapi",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/api/v1",
        "/openapi/v3/../../metrics",
        "/.well-known/openid-configuration",
        "/openid/v1/jwks",
        "/logs",
        "/debug/pprof",
        "/debug/pprof/",
        "/debug/flags/v",
        "/configz",
        "/ui",
        "/swagger-ui",
        "/statusz",
        "/flagz",
        "/backup",
        "/controllers",
        "//metrics",
        "/%6detrics",
        "/metrics%2F",
        "/METRICS",
        "/healthz/../metrics",
        "/livez/../metrics",
        "/api/../metrics",
        "/api//metrics",
        "/version/../metrics",
    ];
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS];
    let all = paths.iter().flat_map(|path| methods.iter().map(move |method| (path, method)));
    all.map(|(path, method)| Case { ask: Ask::new(method.clone(), *path), is_plain: true }).collect()
}
