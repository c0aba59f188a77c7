//! Verbs over HTTP: codes, bodies, refusals.

use crate::serving::http::common::{Harness, WIDGETS, widget};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use serving::testing::limits;

const MERGE: [(&str, &str); 1] = [("content-type", "application/merge-patch+json")];

#[tokio::test(start_paused = true)]
async fn an_object_lives() {
    let harness = Harness::with_widgets().await;
    let created = harness.post(WIDGETS, &widget("a", 1)).await;
    assert_eq!(created.code, 201, "{}", created.text());
    assert_eq!(created.header("content-type"), "application/json");
    let path = format!("{WIDGETS}/a");
    let patched = harness.call("PATCH", &path, &MERGE, br#"{"spec":{"size":2}}"#).await;
    assert_eq!((patched.code, &patched.json()["spec"]), (200, &json!({"size": 2})), "{}", patched.text());
    let read = harness.get(&path).await;
    assert_eq!(read.json(), patched.json());
    let mut object = read.json();
    object["spec"]["size"] = 3.into();
    let body = object.to_string();
    let updated = harness.call("PUT", &path, &[], body.as_bytes()).await;
    assert_eq!(updated.code, 200, "{}", updated.text());
    let conflict = harness.call("PUT", &path, &[], body.as_bytes()).await;
    assert_eq!((conflict.code, conflict.json()["reason"].clone()), (409, "Conflict".into()));
    let apply = [("content-type", "application/apply-patch+yaml")];
    let text = b"apiVersion: golden.test/v1\nkind: Widget\nmetadata: {name: b}\nspec: {size: 1}\n";
    let applied = harness.call("PATCH", &format!("{WIDGETS}/b?fieldManager=x"), &apply, text).await;
    assert_eq!(applied.code, 201, "{}", applied.text());
    let list = harness.get(WIDGETS).await.json();
    assert_eq!(list["kind"], "WidgetList");
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert_eq!(list["items"][0]["kind"], "Widget");
    let deleted = harness.call("DELETE", &path, &[], b"").await;
    assert_eq!((deleted.code, deleted.json()["status"].clone()), (200, "Success".into()));
    assert_eq!(harness.get(&path).await.code, 404);
    let all = harness.call("DELETE", WIDGETS, &[], b"").await;
    assert_eq!(all.json()["items"].as_array().unwrap().len(), 1, "{}", all.text());
}

#[tokio::test(start_paused = true)]
async fn built_in_lists_leave_out_the_kind_of_their_items() {
    let harness = Harness::new().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let created = harness.post(path, &json!({"metadata": {"name": "a"}, "data": {"k": "}{\""}})).await;
    assert_eq!(created.code, 201, "{}", created.text());
    assert_eq!(created.json()["kind"], "ConfigMap");
    let list = harness.get(path).await.json();
    assert_eq!(list["kind"], "ConfigMapList");
    let items = list["items"].as_array().unwrap();
    let a = items.iter().find(|item| item["metadata"]["name"] == "a").unwrap();
    assert_eq!((&a["kind"], &a["apiVersion"], &a["data"]["k"]), (&Value::Null, &Value::Null, &"}{\"".into()));
}

/// As in `storage.List` of kube-apiserver: only with a namespace does the name select a single key.
#[tokio::test(start_paused = true)]
async fn a_list_of_one_name_over_all_namespaces_has_pages() {
    let harness = Harness::new().await;
    for namespace in ["default", "other"] {
        harness.post("/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).await;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        assert_eq!(harness.post(&path, &json!({"metadata": {"name": "a"}})).await.code, 201);
    }
    let page = harness.get("/api/v1/configmaps?fieldSelector=metadata.name%3Da&limit=1").await.json();
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "{page}");
    assert!(page["metadata"]["continue"].is_string(), "{page}");
    let path = "/api/v1/namespaces/other/configmaps?fieldSelector=metadata.name%3Da&limit=1";
    assert!(harness.get(path).await.json()["metadata"]["continue"].is_null());
}

/// Refused requests: method, path, content type, body, code, reason, and the beginning of the message.
const REFUSALS: &[(&str, &str, &str, &str, u16, &str, &str)] = &[
    (
        "GET",
        "/apis/golden.test/v1/namespaces/default/widgets/x",
        "",
        "",
        404,
        "NotFound",
        "widgets.golden.test \"x\" not found",
    ),
    (
        "GET",
        "/api/v1/namespaces/default/nonsense",
        "",
        "",
        404,
        "NotFound",
        "the server could not find the requested resource",
    ),
    ("GET", "/api/v9", "", "", 404, "NotFound", "the server could not find the requested resource"),
    (
        "PUT",
        "/api/v1/namespaces/default/configmaps",
        "",
        "",
        405,
        "MethodNotAllowed",
        "the server does not allow this method",
    ),
    ("POST", "/api/v1/configmaps", "", "", 405, "MethodNotAllowed", "the server does not allow this method"),
    ("PUT", WIDGETS, "", "", 400, "BadRequest", "name must be provided"),
    (
        "OPTIONS",
        WIDGETS,
        "",
        "",
        405,
        "MethodNotAllowed",
        " is not supported on resources of kind \"widgets.golden.test\"",
    ),
    (
        "DELETE",
        "/apis/golden.test/v1/namespaces/default/widgets/a/status",
        "",
        "",
        405,
        "MethodNotAllowed",
        "delete is not supported",
    ),
    (
        "POST",
        WIDGETS,
        "text/plain",
        "x",
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format",
    ),
    (
        "POST",
        WIDGETS,
        "application/json",
        "",
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
    ),
    (
        "POST",
        WIDGETS,
        "application/json",
        "{\"metadata\":{\"name\":\"a\"}}",
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{\"metadata\":{\"name\":\"a\"}}' ({\"metadata\":{\"name\":\"a\"}})",
    ),
    (
        "POST",
        WIDGETS,
        "application/json",
        "{\"apiVersion\":\"golden.test/v2\",\"kind\":\"Widget\"}",
        400,
        "BadRequest",
        "the API version in the data (golden.test/v2) does not match the expected API version (golden.test/v1)",
    ),
    (
        "POST",
        WIDGETS,
        "application/json",
        "{\"apiVersion\":\"golden.test/v1\",\"kind\":\"Other\",\"metadata\":{\"name\":\"a\"}}",
        422,
        "Invalid",
        "Other.golden.test \"a\" is invalid: kind: Invalid value: \"Other\": must be Widget",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/configmaps",
        "application/json",
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}",
        400,
        "BadRequest",
        "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/configmaps?fieldManager=a%07b",
        "application/json",
        "{}",
        422,
        "Invalid",
        "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\ab\": invalid character U+0007 (at position 1)",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/configmaps?dryRun=Some",
        "application/json",
        "{}",
        422,
        "Invalid",
        "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
    ),
    (
        "PATCH",
        "/apis/golden.test/v1/namespaces/default/widgets/a",
        "application/strategic-merge-patch+json",
        "{}",
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    ),
    (
        "PATCH",
        "/apis/golden.test/v1/namespaces/default/widgets/a",
        "application/apply-patch+yaml",
        "{}",
        422,
        "Invalid",
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
    ),
    (
        "PATCH",
        "/apis/golden.test/v1/namespaces/default/widgets/a?fieldManager=x",
        "application/apply-patch+yaml",
        "[]",
        400,
        "BadRequest",
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
    ),
    (
        "PATCH",
        "/apis/golden.test/v1/namespaces/default/widgets/a?fieldManager=x",
        "application/apply-patch+yaml",
        "",
        400,
        "BadRequest",
        "invalid object type: /, Kind=",
    ),
    (
        "DELETE",
        "/api/v1/namespaces/default/configmaps/a",
        "application/json",
        "{\"propagationPolicy\":\"Nope\"}",
        422,
        "Invalid",
        "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Nope\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
    ),
    (
        "DELETE",
        "/apis/golden.test/v1/namespaces/default/widgets/a?gracePeriodSeconds=x",
        "",
        "",
        400,
        "BadRequest",
        "strconv.ParseInt: parsing \"x\": invalid syntax",
    ),
    (
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
        "application/json",
        "{\"metadata\":{\"name\":\"a\\u0000\"}}",
        422,
        "Invalid",
        "Role.rbac.authorization.k8s.io \"a\u{0}\" is invalid: metadata.name: Invalid value: \"a\\x00\": may not contain control characters",
    ),
    (
        "GET",
        "/apis/golden.test/v1/namespaces/default/widgets?limit=x",
        "",
        "",
        400,
        "BadRequest",
        "strconv.ParseInt: parsing \"x\": invalid syntax",
    ),
];

#[tokio::test(start_paused = true)]
async fn refusals() {
    let harness = Harness::with_widgets().await;
    for (method, path, content_type, body, code, reason, message) in REFUSALS {
        let headers = [("content-type", *content_type)];
        let headers = if content_type.is_empty() { &[][..] } else { &headers[..] };
        let answer = harness.call(method, path, headers, body.as_bytes()).await;
        let text = answer.text();
        assert_eq!(answer.code, *code, "{method} {path}: {text}");
        assert_eq!(answer.json()["reason"], *reason, "{method} {path}: {text}");
        assert!(answer.message().starts_with(message), "{method} {path}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn paths_that_nobody_serves() {
    let harness = Harness::with_widgets().await;
    let paths = [
        "/nope",
        "/apis/nope.test/v1/things",
        "/apis/golden.test/v1/namespaces/default/widget",
        "/apis/golden.test/v1/namespaces/default/gizmos",
        "/apis/golden.test/v1/widgets/a",
    ];
    for path in paths {
        let answer = harness.get(path).await;
        assert_eq!((answer.code, answer.text().as_str()), (404, "404 page not found\n"), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_below_at_and_above_the_limit() {
    let harness = Harness::new().await;
    let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
    let body = |size: usize| {
        let mut text = br#"{"metadata":{"name":"a"}}"#.to_vec();
        text.resize(size, b' ');
        text
    };
    for (size, code) in
        [(limits::BODY_BYTES - 1, 201), (limits::BODY_BYTES, 201), (limits::BODY_BYTES + 1, 413)]
    {
        let answer = harness.call("POST", path, &[("content-type", "application/json")], &body(size)).await;
        assert_eq!(answer.code, code, "{size}: {}", answer.text());
    }
    let metrics = harness.get("/metrics").await.text();
    assert!(metrics.contains("firstlight_limit_reached_total{limit=\"body_bytes\"} 1"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn field_managers_below_at_and_above_the_limit() {
    let harness = Harness::new().await;
    for (size, code) in [
        (limits::FIELD_MANAGER_BYTES - 1, 201),
        (limits::FIELD_MANAGER_BYTES, 201),
        (limits::FIELD_MANAGER_BYTES + 1, 422),
    ] {
        let manager = "m".repeat(size);
        let path = format!("/api/v1/namespaces/default/configmaps?dryRun=All&fieldManager={manager}");
        let answer = harness.post(&path, &json!({"metadata": {"name": "a"}})).await;
        assert_eq!(answer.code, code, "{size}: {}", answer.text());
    }
}

/// A future is moved before it runs. It has the size of the largest thing that a request may become.
#[tokio::test(start_paused = true)]
async fn a_request_takes_little_memory_before_it_is_answered() {
    let harness = Harness::new().await;
    let request = Request::get("/livez").body(Full::<Bytes>::default()).unwrap();
    let bytes = std::mem::size_of_val(&*harness.server.handle(request));
    assert!(bytes <= 8 * 1024, "{bytes}");
}
