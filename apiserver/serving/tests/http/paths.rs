//! Checks that requests are served in the scope that was authorized: every combination of path parts, by
//! accounts that may do nothing, something and everything. [`Case`] computes the expected result from the
//! parts, not from the text of the path.

use ::access::User;
use serde_json::{Value, json};

use crate::serving::http::common::{Harness, crd, widget};

const CORE: &str = "/api/v1";
const GOLDEN: &str = "/apis/golden.test/v1";
/// A text in every object that the tenant may not see.
const OUTSIDE: &str = "only-for-others";
const WRITES: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// Columns: root, plural, whether namespaced, whether it has a status.
const KINDS: [(&str, &str, bool, bool); 7] = [
    (CORE, "namespaces", false, true),
    (CORE, "configmaps", true, false),
    (CORE, "nodes", false, true),
    (GOLDEN, "widgets", true, true),
    (GOLDEN, "gizmos", false, true),
    (GOLDEN, "namespaces", false, false),
    (CORE, "nonsense", false, false),
];

/// Columns: path before the resource, the namespace that a well-formed path means, whether the scope is
/// well-formed.
const SCOPES: [(&str, Option<&str>, bool); 12] = [
    ("", None, true),
    ("namespaces/mine/", Some("mine"), true),
    ("namespaces/other/", Some("other"), true),
    ("%6eamespaces/other/", Some("other"), true),
    ("namespaces%2Fother/", Some("other"), true),
    ("namespaces//", None, false),
    ("namespaces/mine//", None, false),
    ("namespaces/../", None, false),
    ("namespaces/mine/namespaces/other/", None, false),
    ("namespaces/mine/../other/", None, false),
    ("namespaces/mine/status/", None, false),
    ("namespaces/mine%2F..%2Fother/", None, false),
];

const NAMES: [&str; 8] = ["", "/", "/mine", "/other", "/a", "//a", "/..", "/mine%2F..%2Fa"];
const TAILS: [&str; 8] =
    ["", "/status", "/finalize", "/scale", "/status/extra", "/nonsense", "//status", "/exec/x"];

/// One path, in parts.
struct Case {
    root: &'static str,
    plural: &'static str,
    namespaced: bool,
    status: bool,
    scope: (&'static str, Option<&'static str>, bool),
    name: &'static str,
    tail: &'static str,
    watch: bool,
}

impl Case {
    /// Returns all cases. Without a name, a tail would be parsed as the name, so such cases are left out.
    fn all() -> impl Iterator<Item = Self> {
        let endings = NAMES.into_iter().flat_map(|name| TAILS.into_iter().map(move |tail| (name, tail)));
        let endings = endings.filter(|(name, tail)| !name.is_empty() || tail.is_empty());
        let endings = endings.flat_map(|(name, tail)| [(name, tail, false), (name, tail, true)]);
        KINDS.into_iter().flat_map(move |(root, plural, namespaced, status)| {
            let endings = endings.clone();
            SCOPES.into_iter().flat_map(move |scope| {
                endings.clone().map(move |(name, tail, watch)| Self {
                    root,
                    plural,
                    namespaced,
                    status,
                    scope,
                    name,
                    tail,
                    watch,
                })
            })
        })
    }

    fn path(&self) -> String {
        let watch = if self.watch { "watch/" } else { "" };
        format!("{}/{watch}{}{}{}{}", self.root, self.scope.0, self.plural, self.name, self.tail)
    }

    /// Returns the name of the object; `None` for a collection.
    fn object(&self) -> Option<&'static str> {
        self.name.strip_prefix('/').filter(|name| !name.is_empty())
    }

    /// Returns whether the path names an object of an existing resource, whatever else is wrong with it.
    fn names_a_known_resource(&self) -> bool {
        let unknown = self.plural == "nonsense" || (self.root, self.plural) == (GOLDEN, "namespaces");
        // The segment after a namespace is a resource.
        let other = self.plural == "namespaces" && !matches!(self.tail, "" | "/status" | "/finalize");
        !unknown && !other && self.scope.2 && self.object().is_some_and(|name| !name.contains(['/', '.']))
    }

    /// Returns whether Kubernetes has such a path.
    fn exists(&self) -> bool {
        let known = self.plural != "nonsense" && (self.root, self.plural) != (GOLDEN, "namespaces");
        let sound = self.scope.2
            && !self.object().is_some_and(|name| name.contains("%2F") || name.starts_with(['/', '.']));
        let placed = match self.scope.1 {
            Some(_) => self.namespaced,
            None => !self.namespaced || (self.object().is_none() && self.tail.is_empty()),
        };
        let part = match self.tail {
            "" => true,
            "/status" => self.status && self.object().is_some() && !self.watch,
            "/finalize" => (self.root, self.plural) == (CORE, "namespaces") && self.object().is_some(),
            _ => false,
        };
        // The path of a collection may end in a slash.
        let whole = self.name != "/" || self.tail.is_empty();
        known && sound && placed && part && whole && (self.tail.is_empty() || !self.watch)
    }

    /// Returns whether the object of the path belongs to the namespace `mine`.
    fn is_mine(&self) -> bool {
        let own = (self.root, self.plural, self.scope.1) == (CORE, "namespaces", None)
            && self.object() == Some("mine");
        own || (self.namespaced && self.scope.1 == Some("mine"))
    }
}

/// Creates two namespaces, one of them the tenant's, with objects of each kind inside and outside of it.
async fn fixture() -> Harness {
    let harness = Harness::guarded().await;
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (plural, kind, scope) in [("widgets", "Widget", "Namespaced"), ("gizmos", "Gizmo", "Cluster")] {
        made(&harness, crds, crd(plural, kind, scope)).await;
    }
    let marked = |name: &str| json!({"metadata": {"name": name, "annotations": {"marker": OUTSIDE}}});
    made(&harness, &format!("{CORE}/namespaces"), json!({"metadata": {"name": "mine"}})).await;
    for (path, name) in
        [("namespaces", "other"), ("nodes", "a"), ("nodes", "mine"), ("namespaces/other/configmaps", "a")]
    {
        made(&harness, &format!("{CORE}/{path}"), marked(name)).await;
    }
    made(&harness, &format!("{CORE}/namespaces/mine/configmaps"), json!({"metadata": {"name": "a"}})).await;
    made(&harness, &format!("{GOLDEN}/namespaces/mine/widgets"), widget("a", 1)).await;
    let custom = |kind: &str| {
        let mut object = marked("a");
        object["kind"] = kind.into();
        object["apiVersion"] = "golden.test/v1".into();
        object
    };
    made(&harness, &format!("{GOLDEN}/namespaces/other/widgets"), custom("Widget")).await;
    made(&harness, &format!("{GOLDEN}/gizmos"), custom("Gizmo")).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let reading = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]);
    let role = |kind: &str, rules: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "all"}, "rules": rules});
    let binding = |kind: &str, role: &str, user: &str| {
        let group = "rbac.authorization.k8s.io";
        json!({
            "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": "all"},
            "roleRef": {"apiGroup": group, "kind": role, "name": "all"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        })
    };
    made(&harness, &format!("{rbac}/namespaces/mine/roles"), role("Role", everything)).await;
    made(&harness, &format!("{rbac}/namespaces/mine/rolebindings"), binding("RoleBinding", "Role", "tenant"))
        .await;
    made(&harness, &format!("{rbac}/clusterroles"), role("ClusterRole", reading)).await;
    made(
        &harness,
        &format!("{rbac}/clusterrolebindings"),
        binding("ClusterRoleBinding", "ClusterRole", "reader"),
    )
    .await;
    harness
}

async fn made(harness: &Harness, path: &str, object: Value) {
    let answer = harness.post(path, &object).await;
    assert_eq!(answer.code, 201, "{path}: {}", answer.text());
}

fn accounts() -> [(&'static str, Option<User>); 4] {
    let user = |name: &str| Some(User::new(name, [] as [&str; 0]));
    [("anonymous", None), ("nobody", user("nobody")), ("tenant", user("tenant")), ("reader", user("reader"))]
}

/// Reads a path; a watch is limited so that it returns existing objects only.
async fn read(harness: &Harness, case: &Case) -> (u16, String) {
    let path = case.path();
    if !case.watch {
        let answer = harness.get(&path).await;
        return (answer.code, answer.text());
    }
    let response = harness.send("GET", &format!("{path}?timeoutSeconds=1"), &[], b"").await;
    let code = response.status().as_u16();
    let text = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    (code, String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test(start_paused = true)]
async fn what_is_read_is_what_was_asked_for() {
    let mut harness = fixture().await;
    for (account, user) in accounts() {
        harness.user = user;
        for case in Case::all() {
            let (code, text) = read(&harness, &case).await;
            let path = case.path();
            let may = account == "reader" || (account == "tenant" && case.is_mine());
            let expected: &[u16] = match (case.exists(), may) {
                // Only users who may access an unknown resource learn that it does not exist.
                (false, _) => &[400, 403, 404],
                (true, false) => &[403],
                (true, true) if case.tail == "/finalize" => &[405],
                (true, true) => &[200, 404],
            };
            assert!(expected.contains(&code), "{account} GET {path}: {code}, not {expected:?}: {text}");
            assert!(account == "reader" || !text.contains(OUTSIDE), "{account} GET {path}: {text}");
            let told = code != 403 || case.exists() || !case.names_a_known_resource();
            assert!(told, "{account} GET {path}: 403 for a path that {} does not have: {text}", case.plural);
        }
    }
    // Names that clients make up must not become label values.
    harness.user = Some(User::master("admin"));
    let metrics = harness.get("/metrics").await.text();
    assert!(!metrics.contains("nonsense") && metrics.contains("resource=\"widgets\""), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn nobody_writes_outside_of_their_namespace() {
    let mut harness = fixture().await;
    let outside = [
        format!("{CORE}/namespaces"),
        format!("{CORE}/nodes"),
        format!("{CORE}/namespaces/other/configmaps"),
        format!("{GOLDEN}/namespaces/other/widgets"),
        format!("{GOLDEN}/gizmos"),
    ];
    let before = snapshot(&mut harness, &outside).await;
    for (account, user) in accounts() {
        for case in Case::all().filter(|case| !case.watch) {
            let path = case.path();
            // The tenant may write everything in their own namespace.
            if account == "tenant" && case.is_mine() {
                continue;
            }
            for method in WRITES {
                harness.user.clone_from(&user);
                let kind = match case.plural {
                    "gizmos" => "Gizmo",
                    "widgets" => "Widget",
                    _ => "",
                };
                let version = if kind.is_empty() { "" } else { "golden.test/v1" };
                let name = case.object().unwrap_or("made");
                let body = match method {
                    "PATCH" => json!({"metadata": {"labels": {"changed": "yes"}, "finalizers": ["a.b/c"]}}),
                    "DELETE" => Value::Null,
                    _ => {
                        json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": {"changed": "yes"}}})
                    }
                };
                let content_type =
                    if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
                let body = if body.is_null() { String::new() } else { body.to_string() };
                let headers = [("content-type", content_type)];
                let answer = harness.call(method, &path, &headers, body.as_bytes()).await;
                let refused = [400, 403, 404].contains(&answer.code);
                assert!(refused, "{account} {method} {path}: {} {}", answer.code, answer.text());
                assert!(!answer.text().contains(OUTSIDE), "{account} {method} {path}: {}", answer.text());
            }
        }
    }
    assert_eq!(snapshot(&mut harness, &outside).await, before);
}

async fn snapshot(harness: &mut Harness, paths: &[String]) -> Vec<Value> {
    harness.user = Some(User::master("admin"));
    let mut lists = Vec::new();
    for path in paths {
        let mut list = harness.get(path).await.json();
        list["metadata"] = Value::Null;
        lists.push(list);
    }
    lists
}

#[tokio::test(start_paused = true)]
async fn paths_that_are_no_resources_are_compared_as_they_are_served() {
    let mut harness = fixture().await;
    let rules = json!([{"nonResourceURLs": ["/healthz/*", "/allowed"], "verbs": ["get"]}]);
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let group = "rbac.authorization.k8s.io";
    let role = json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": "paths"}, "rules": rules});
    made(&harness, &format!("{rbac}/clusterroles"), role).await;
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "paths"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "paths"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:unauthenticated"}],
    });
    made(&harness, &format!("{rbac}/clusterrolebindings"), binding).await;
    harness.user = None;
    let table = [
        ("/healthz/ping", 200),
        ("/healthz%2Fping", 200),
        ("/%68ealthz", 200),
        ("/allowed", 404),
        ("/metrics", 403),
        ("/%6detrics", 403),
        ("//metrics", 403),
        ("//livez", 403),
        ("/METRICS", 403),
        ("/healthz/../metrics", 404),
        ("/healthz/..%2f..%2fmetrics", 404),
        ("/allowed/../metrics", 403),
        ("//api/v1/namespaces", 403),
        ("/healthz/%", 400),
        ("/healthz/%ff", 400),
    ];
    for (path, code) in table {
        let answer = harness.get(path).await;
        assert_eq!(answer.code, code, "{path}: {}", answer.text());
    }
}

#[tokio::test(start_paused = true)]
async fn who_may_read_one_name_selects_no_other() {
    let mut harness = fixture().await;
    let group = "rbac.authorization.k8s.io";
    let rbac = format!("/apis/{group}/v1/namespaces/other");
    let rules =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["b"], "verbs": ["*"]}]);
    let role = json!({"apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "one"}, "rules": rules});
    made(&harness, &format!("{rbac}/roles"), role).await;
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": "one"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "one"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "bob"}],
    });
    made(&harness, &format!("{rbac}/rolebindings"), binding).await;
    harness.user = Some(User::new("bob", [] as [&str; 0]));
    let maps = "/api/v1/namespaces/other/configmaps";
    let table = [
        ("fieldSelector=metadata.name%3Db", 200),
        ("fieldSelector=metadata.name%3D%3Db", 200),
        ("fieldSelector=metadata.name%3Db,metadata.name%3Da", 403),
        ("fieldSelector=metadata.name%3Da", 403),
        ("fieldSelector=metadata.name!%3Db", 403),
        ("fieldSelector=metadata.name!%3Da", 403),
        ("fieldSelector=metadata.name%3Db%5C,metadata.name%3Da", 403),
        ("fieldSelector=&fieldSelector=metadata.name%3Db", 403),
        ("fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db", 403),
        ("fieldSelector=metadata.name%3Db&fieldSelector=metadata.name%3Da", 200),
        ("fieldselector=metadata.name%3Db", 403),
        ("", 403),
    ];
    for (query, code) in table {
        for watch in ["", "&watch=1&timeoutSeconds=1"] {
            let answer = harness.get(&format!("{maps}?{query}{watch}")).await;
            assert_eq!(answer.code, code, "{query}{watch}: {}", answer.text());
            assert!(!answer.text().contains(OUTSIDE), "{query}{watch}: {}", answer.text());
        }
    }
    for (path, query, code) in [
        ("watch/namespaces/other/configmaps/b", "", 200),
        ("watch/namespaces/other/configmaps/a", "", 403),
        ("watch/namespaces/other/configmaps/b", "&fieldSelector=metadata.name%3Da", 400),
        ("watch/namespaces/other/configmaps/b", "&fieldSelector=metadata.namespace%3Dother", 400),
        ("watch/namespaces/other/configmaps", "", 403),
    ] {
        let answer = harness.get(&format!("/api/v1/{path}?timeoutSeconds=1{query}")).await;
        assert_eq!(answer.code, code, "{path}{query}: {}", answer.text());
        assert!(!answer.text().contains(OUTSIDE), "{path}{query}: {}", answer.text());
    }
    let options = harness.call("DELETE", &format!("{maps}?fieldSelector=metadata.name%3Db"), &[], b"").await;
    assert_eq!(options.code, 403, "{}", options.text());
}
