//! The attacks: each input, sent to every endpoint that parses it.

use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use serde_json::{Value, json};
use std::io::Write as _;

use super::payloads::{
    WHOLE, cbors, expressions, json_texts, managed, many, nested, patterns, protobufs, yaml_texts,
};
use crate::caller::Ask;

/// Consecutive requests of one account.
#[derive(Clone)]
pub struct Attack {
    pub name: String,
    /// An account of the lab, or `admin`.
    pub account: &'static str,
    pub steps: Vec<Ask>,
}

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const MAPS: &str = "/api/v1/namespaces/mine/configmaps";
const CLUSTERS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/mine/clusters";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
/// Name of a ConfigMap and a Service in the tenant's namespace, which are patched.
pub const TARGET: &str = "target";

fn one(name: impl Into<String>, account: &'static str, ask: Ask) -> Attack {
    Attack { name: name.into(), account, steps: vec![ask] }
}

/// Returns all attacks for a full server.
pub fn all() -> Vec<Attack> {
    [texts(true), patches(), queries(), shapes(), definitions(true)].concat()
}

/// Returns the attacks for a workload cluster's server, which has no accounts and no Cluster API kinds; sent
/// by its administrator.
pub fn of_workload_cluster() -> Vec<Attack> {
    let mut all = [texts(false), definitions(false)].concat();
    for attack in &mut all {
        attack.account = "admin";
    }
    all
}

/// Returns documents in every format, sent to all parsers if `is_whole`, otherwise to one.
fn texts(is_whole: bool) -> Vec<Attack> {
    let mut all = Vec::new();
    let post = |path: &str, kind: &str, body: String| Ask::new(Method::POST, path).body(kind, body);
    for (name, text) in json_texts() {
        all.push(one(format!("{name}, a review"), "plain", post(REVIEWS, JSON, text.clone())));
        if !is_whole {
            continue;
        }
        let strict = format!("{MAPS}?fieldValidation=Strict");
        all.push(one(format!("{name}, strict"), "tenant", post(&strict, JSON, text.clone())));
        all.push(one(format!("{name}, a custom object"), "tenant", post(CLUSTERS, JSON, text.clone())));
        let path = format!("{MAPS}/{TARGET}");
        for kind in ["merge-patch", "strategic-merge-patch"] {
            let ask = Ask::new(Method::PATCH, &path).body(&format!("application/{kind}+json"), text.clone());
            all.push(one(format!("{name}, {kind}"), "tenant", ask));
        }
        let value = format!("[{{\"op\":\"add\",\"path\":\"/data\",\"value\":{text}}}]");
        let ask = Ask::new(Method::PATCH, &path).body("application/json-patch+json", value);
        all.push(one(format!("{name}, in a JSON patch"), "tenant", ask));
    }
    for (name, text) in yaml_texts() {
        let yaml = "application/yaml";
        all.push(one(format!("{name}, a review"), "plain", post(REVIEWS, yaml, text.clone())));
        if is_whole {
            all.push(one(format!("{name}, a custom object"), "tenant", post(CLUSTERS, yaml, text.clone())));
            let path = format!("{MAPS}/{TARGET}?fieldManager=m");
            let ask = Ask::new(Method::PATCH, path).body(APPLY, text);
            all.push(one(format!("{name}, applied"), "tenant", ask));
        }
    }
    for (name, bytes) in protobufs("ConfigMap").into_iter().chain(protobufs("Pod")) {
        let kind = "application/vnd.kubernetes.protobuf";
        all.push(one(name.clone(), "plain", Ask::new(Method::POST, REVIEWS).body(kind, bytes.clone())));
        all.push(one(name, "tenant", Ask::new(Method::POST, MAPS).body(kind, bytes)));
    }
    for (name, bytes) in cbors() {
        let ask = Ask::new(Method::POST, REVIEWS).body("application/cbor", bytes.clone());
        all.push(one(name.clone(), "plain", ask));
        let path = format!("{MAPS}/{TARGET}?fieldManager=m");
        all.push(one(
            name,
            "tenant",
            Ask::new(Method::PATCH, path).body("application/apply-patch+cbor", bytes),
        ));
    }
    all
}

fn patches() -> Vec<Attack> {
    let map = format!("{MAPS}/{TARGET}");
    let service = format!("/api/v1/namespaces/mine/services/{TARGET}");
    let operations = |count: usize, one: fn(usize) -> Value| Value::from_iter((0..count).map(one));
    let pointer = json!([{"op": "add", "path": "/a".repeat(500_000), "value": 1}]);
    let tests = operations(10_000, |_| json!({"op": "test", "path": "/data/big", "value": "x"}));
    let copies =
        operations(10_000, |at| json!({"op": "copy", "from": "/data", "path": format!("/data/c{at}")}));
    let inserts = operations(9_999, |at| {
        if at == 0 {
            json!({"op": "add", "path": "/l", "value": []})
        } else {
            json!({"op": "add", "path": "/l/0", "value": at})
        }
    });
    let moves = operations(10_000, |_| json!({"op": "move", "from": "/data", "path": "/data"}));
    let more = operations(100_000, |_| json!({"op": "remove", "path": "/x"}));
    let mut all = Vec::new();
    for (name, patch) in [
        ("a pointer of 1 MB", pointer),
        ("10 000 tests", tests),
        ("10 000 copies", copies),
        ("10 000 inserts", inserts),
        ("10 000 moves", moves),
        ("100 000 removals", more),
    ] {
        let ask = Ask::new(Method::PATCH, &map).body("application/json-patch+json", patch.to_string());
        all.push(one(format!("JSON patch, {name}"), "tenant", ask));
    }
    let ports = |count: usize| {
        Value::from_iter((0..count).map(|at| json!({"port": at % 65_000 + 1, "name": format!("p{at}")})))
    };
    let order = Value::from_iter((0..60_000).map(|at| json!({"port": at})));
    let removals = Value::from_iter((0..60_000).map(|at| json!({"port": at, "$patch": "delete"})));
    let strategic = [
        ("50 000 ports", json!({"spec": {"ports": ports(50_000)}})),
        ("an order of 60 000", json!({"spec": {"$setElementOrder/ports": order, "ports": ports(3)}})),
        ("60 000 removals", json!({"spec": {"ports": removals}})),
        (
            "keys to keep",
            json!({"spec": {"$retainKeys": Value::from_iter((0..100_000).map(|at| at.to_string()))}}),
        ),
    ];
    for (name, patch) in strategic {
        let ask = Ask::new(Method::PATCH, &service)
            .body("application/strategic-merge-patch+json", patch.to_string());
        all.push(one(format!("strategic merge patch, {name}"), "tenant", ask));
    }
    let applied = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": TARGET}, "spec": {"ports": ports(50_000)}});
    let ask = Ask::new(Method::PATCH, format!("{service}?fieldManager=m&force=true"))
        .body(APPLY, applied.to_string());
    all.push(one("apply, 50 000 ports", "tenant", ask));
    let wide = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TARGET}, "data": Value::from_iter((0..60_000).map(|at| (format!("k{at}"), json!("v"))))});
    for manager in ["a", "b", "c"] {
        let path = format!("{map}?fieldManager={manager}&force=true");
        all.push(one(
            format!("apply, 60 000 keys as {manager}"),
            "tenant",
            Ask::new(Method::PATCH, path).body(APPLY, wide.to_string()),
        ));
    }
    all
}

/// Returns malformed and large headers, queries and list tokens.
fn queries() -> Vec<Attack> {
    let long = 60_000;
    let maps = |query: String| Ask::new(Method::GET, format!("{MAPS}?{query}"));
    let token = |text: &str| {
        use base64::Engine as _;
        format!("limit=1&continue={}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text))
    };
    let selectors = [
        ("a term repeated", format!("labelSelector={}", "a%3Db,".repeat(long / 6))),
        ("many values", format!("labelSelector=a%20in%20({})", "x,".repeat(long / 2))),
        ("open brackets", format!("labelSelector={}", "(".repeat(long))),
        ("exclamation marks", format!("labelSelector={}", "!".repeat(long))),
        ("fields", format!("fieldSelector={}", "metadata.name%3Dx,".repeat(long / 18))),
        ("backslashes", format!("fieldSelector=metadata.name%3D{}", "%5C".repeat(long / 3))),
        ("many parameters", many(long / 4, "&", |at| format!("{}", at % 997))),
        ("one parameter for ever", "labelSelector=a&".repeat(long / 16)),
        ("escapes", format!("continue={}", "%25".repeat(long / 3))),
        ("a deep token", token(&"[".repeat(long / 2))),
        (
            "a token of another list",
            token("{\"v\":\"meta.k8s.io/v1\",\"rv\":-1,\"start\":\"../../secrets\"}"),
        ),
        (
            "a token of great numbers",
            token("{\"v\":\"meta.k8s.io/v1\",\"rv\":18446744073709551615,\"start\":\"\\u0000\"}"),
        ),
        ("a limit of everything", "limit=9223372036854775807".to_owned()),
        ("a limit below zero", "limit=-9223372036854775808".to_owned()),
        (
            "a revision beyond all",
            "resourceVersion=18446744073709551615&resourceVersionMatch=NotOlderThan".to_owned(),
        ),
        ("a pretty great timeout", "timeout=99999999999h&timeoutSeconds=-1".to_owned()),
    ];
    let mut all: Vec<Attack> = selectors
        .into_iter()
        .map(|(name, query)| one(format!("query, {name}"), "tenant", maps(query)))
        .collect();
    let accepted = many(long / 20, ",", |at| format!("application/x{at};q=0.{at}"));
    let gzip = "gzip;q=0.5,".repeat(long / 12);
    for (name, header, value) in [
        ("Accept", "accept", accepted),
        ("Accept-Encoding", "accept-encoding", gzip),
        ("If-None-Match", "if-none-match", "\"x\",".repeat(long / 4)),
    ] {
        let ask = Ask::new(Method::GET, "/api").header(header, value.clone());
        all.push(one(format!("a long {name}"), "plain", ask));
        all.push(one(
            format!("a long {name}, OpenAPI"),
            "plain",
            Ask::new(Method::GET, "/openapi/v2").header(header, value),
        ));
    }
    all.push(one("a path of 30 000 segments", "plain", Ask::new(Method::GET, "/a".repeat(long / 2))));
    all.push(one(
        "a path of escapes",
        "plain",
        Ask::new(Method::GET, format!("/api/v1/{}", "%2f".repeat(long / 3))),
    ));
    let headers = (0..120)
        .fold(Ask::new(Method::GET, "/api"), |ask, at| ask.header(&format!("x-{at}"), "y".repeat(400)));
    all.push(one("120 headers", "plain", headers));
    let agent = Ask::new(Method::GET, "/api").header("user-agent", "a/".repeat(long / 2));
    all.push(one("a long User-Agent", "plain", agent));
    all
}

/// Returns well-formed objects with too much of something.
fn shapes() -> Vec<Attack> {
    let words = |count: usize| Value::from_iter((0..count).map(|at| format!("word{at}")));
    let same = |count: usize| Value::from_iter((0..count).map(|_| "same"));
    let labels = |count: usize| Value::from_iter((0..count).map(|at| (format!("l{at}"), json!("x"))));
    let owners =
        |count: usize| {
            Value::from_iter((0..count).map(
                |at| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": format!("{at}")}),
            ))
        };
    let map = |metadata: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let containers = Value::from_iter((0..30_000).map(
        |at| json!({"name": format!("c{}", at / 2), "image": "i", "env": [{"name": "A"}, {"name": "A"}]}),
    ));
    let rules = Value::from_iter(
        (0..30_000).map(|_| json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})),
    );
    let deep: Value = serde_json::from_str(&nested("{\"f:a\":", "{}", "}", 120)).unwrap_or_default();
    let wide = Value::from_iter((0..100_000).map(|at| (format!("f:a{at}"), json!({}))));
    let keys = Value::from_iter((0..60_000).map(|at| (format!("k:{{\"a\":{at}}}"), json!({}))));
    let review = |spec: Value| json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec});
    let selector = json!({"requirements": Value::from_iter((0..30_000).map(|_| json!({"key": "a", "operator": "In", "values": ["x"]})))});
    let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": words(100_000)}});
    let objects = [
        ("30 000 finalizers", MAPS, map(json!({"name": "f", "finalizers": same(100_000)}))),
        ("owners", MAPS, map(json!({"name": "o", "ownerReferences": owners(20_000)}))),
        ("labels", MAPS, map(json!({"name": "l", "labels": labels(100_000)}))),
        ("annotations", MAPS, map(json!({"name": "n", "annotations": {"a": "x".repeat(262_000)}}))),
        ("a name of 3 MB", MAPS, map(json!({"name": "n".repeat(WHOLE - 200)}))),
        ("managed fields, deep", MAPS, managed(&deep)),
        ("managed fields, wide", MAPS, managed(&wide)),
        ("managed fields, keys", MAPS, managed(&keys)),
        (
            "30 000 containers",
            "/api/v1/namespaces/mine/pods",
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}),
        ),
        (
            "30 000 rules",
            "/apis/rbac.authorization.k8s.io/v1/namespaces/mine/roles",
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules}),
        ),
        ("a token for everybody", "/api/v1/namespaces/mine/serviceaccounts/default/token", token),
    ];
    let mut all: Vec<Attack> = objects
        .into_iter()
        .map(|(name, path, object)| {
            one(name, "tenant", Ask::new(Method::POST, path).body(JSON, object.to_string()))
        })
        .collect();
    let reviews = [
        (
            "a review of 30 000 requirements",
            review(json!({"resourceAttributes": {"labelSelector": selector}})),
        ),
        (
            "a review of a long path",
            review(json!({"nonResourceAttributes": {"path": "/a".repeat(1_000_000), "verb": "get"}})),
        ),
    ];
    all.extend(reviews.into_iter().map(|(name, body)| {
        one(name, "plain", Ask::new(Method::POST, REVIEWS).body(JSON, body.to_string()))
    }));
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    let written = bomb.write_all(&vec![b' '; 200 << 20]).and_then(|()| bomb.finish());
    if let Ok(bytes) = written {
        let ask = Ask::new(Method::POST, REVIEWS).body(JSON, bytes).header("content-encoding", "gzip");
        all.push(one("200 MB of blanks, compressed", "plain", ask));
    }
    all.push(one(
        "a body of 60 MB",
        "plain",
        Ask::new(Method::POST, REVIEWS).body(JSON, vec![b' '; 60 << 20]),
    ));
    all
}

/// Returns a CustomResourceDefinition whose objects have `schema` below `spec`.
fn definition(plural: &str, schema: &Value) -> Value {
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.attack.io")},
        "spec": {"group": "attack.io", "scope": "Namespaced", "names": {"plural": plural, "kind": plural}, "versions": [version]},
    })
}

/// Creates the CustomResourceDefinition and an object of it, and deletes the definition.
fn kind(name: String, number: usize, schema: &Value, spec: &Value) -> Attack {
    let plural = format!("kinds{number}");
    let object =
        json!({"apiVersion": "attack.io/v1", "kind": plural, "metadata": {"name": "x"}, "spec": spec});
    let steps = vec![
        Ask::new(Method::POST, CRDS).body(JSON, definition(&plural, schema).to_string()),
        Ask::new(Method::POST, format!("/apis/attack.io/v1/namespaces/default/{plural}"))
            .body(JSON, object.to_string()),
        Ask::new(Method::DELETE, format!("{CRDS}/{plural}.attack.io")),
    ];
    Attack { name, account: "admin", steps }
}

/// Returns schemas, CEL rules and policies.
fn definitions(is_whole: bool) -> Vec<Attack> {
    let mut all = Vec::new();
    let mut schemas: Vec<(String, Value)> = Vec::new();
    for (name, rule) in expressions() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [{"rule": rule}]});
        schemas.push((format!("{name}, a rule"), schema));
    }
    for (at, pattern) in patterns().into_iter().enumerate() {
        schemas.push((
            format!("pattern {at}"),
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}),
        ));
    }
    let heavy: Value = (0..400)
        .map(|at| {
            (
                format!("p{at}"),
                json!({"type": "string", "pattern": format!("^[\\w\\pL]{{{},1000}}$", 500 + at)}),
            )
        })
        .collect();
    schemas.push(("400 heavy patterns".into(), json!({"type": "object", "properties": heavy})));
    for depth in [100, 400, 2_000] {
        let levels = (0..depth).fold(
            json!({"type": "string"}),
            |inner, _| json!({"type": "object", "properties": {"a": inner}}),
        );
        schemas.push((format!("a schema {depth} deep"), levels));
        let lists =
            (0..depth).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
        schemas.push((format!("a schema of lists {depth} deep"), lists));
        let any = (0..depth)
            .fold(json!({"type": "object"}), |inner, _| json!({"type": "object", "allOf": [inner]}));
        schemas.push((format!("allOf {depth} deep"), any));
    }
    let wide: Value =
        (0..50_000).map(|at| (format!("p{at}"), json!({"type": "string", "default": "x"}))).collect();
    schemas.push(("50 000 properties".into(), json!({"type": "object", "properties": wide})));
    let default: Value = serde_json::from_str(&nested("{\"a\":", "1", "}", 120)).unwrap_or_default();
    schemas.push((
        "a deep default".into(),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": default}),
    ));
    let rules: Value =
        (0..5_000).map(|at| json!({"rule": format!("self.a != 'v{at}'"), "message": "m"})).collect();
    schemas.push((
        "5 000 rules".into(),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": rules}),
    ));
    for (number, (name, schema)) in schemas.into_iter().enumerate() {
        all.push(kind(name, number, &schema, &json!({"a": "a".repeat(2_000)})));
    }
    if !is_whole {
        return all;
    }
    for (number, (name, expression)) in expressions().into_iter().enumerate() {
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": format!("p{number}")},
            "spec": {
                "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]},
                "variables": [{"name": "v", "expression": expression}], "matchConditions": [{"name": "c", "expression": expression}],
                "validations": [{"expression": expression, "messageExpression": expression}],
            },
        });
        let create = Ask::new(Method::POST, POLICIES).body(JSON, policy.to_string());
        let delete = Ask::new(Method::DELETE, format!("{POLICIES}/p{number}"));
        all.push(Attack { name: format!("{name}, a policy"), account: "admin", steps: vec![create, delete] });
    }
    all
}
