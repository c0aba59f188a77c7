//! The order of fields in JSON: that of Go's structs for built-in kinds, sorted for custom ones.

use serde_json::{Value, json};

use crate::serving::http::common::{Harness, WIDGETS, widget};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Returns the names of the fields of an object in the order of its text, with those of the objects in it, in parentheses.
fn order(text: &str) -> String {
    let mut order = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '{', '}']) {
        let (_, found) = rest.split_at(at);
        match found.as_bytes()[0] {
            b'{' => order.push('('),
            b'}' => order.push(')'),
            _ => {
                let string = &found[1..];
                let mut end = 0;
                while string.as_bytes()[end] != b'"' {
                    end += if string.as_bytes()[end] == b'\\' { 2 } else { 1 };
                }
                if string[end + 1..].starts_with(':') {
                    order.push_str(&string[..end]);
                    order.push(' ');
                }
                rest = &string[end + 1..];
                continue;
            }
        }
        rest = &found[1..];
    }
    order
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_have_the_order_of_their_structs() {
    let harness = Harness::new().await;
    let map = json!({"metadata": {"name": "a", "labels": {"b": "1", "a": "2"}, "finalizers": ["example.com/f"]},
        "data": {"z": "1", "b": "2"}, "immutable": true});
    let created = harness.post(MAPS, &map).await.text();
    let metadata = "metadata (name namespace uid resourceVersion creationTimestamp labels (a b )finalizers managedFields ";
    let wanted =
        format!("(kind apiVersion {metadata}(manager operation apiVersion time fieldsType fieldsV1 (");
    assert!(order(&created).starts_with(&wanted), "{created}");
    assert!(order(&created).ends_with("immutable data (b z ))"), "{created}");
    let path = format!("{MAPS}/a");
    assert_eq!(harness.get(&path).await.text(), created);
    // An answer for people, and one to a deletion.
    let pretty = harness.get(&format!("{path}?pretty=true")).await.text();
    assert!(
        pretty.starts_with("{\n  \"kind\": \"ConfigMap\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {\n"),
        "{pretty}"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&pretty).unwrap(),
        serde_json::from_str::<Value>(&created).unwrap()
    );
    let deleted = harness.call("DELETE", &path, &[], b"").await.text();
    let wanted = "(kind apiVersion metadata (name namespace uid resourceVersion creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels ";
    assert!(order(&deleted).starts_with(wanted), "{deleted}");
    let list = harness.get(MAPS).await.text();
    let wanted = "(kind apiVersion metadata (resourceVersion )items (metadata (name namespace ";
    assert!(order(&list).starts_with(wanted), "{list}");
    let events = harness.get(&format!("{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1")).await.text();
    let added = events.lines().next().unwrap();
    assert!(order(added).starts_with("(type object (kind apiVersion metadata (name "), "{added}");
}

#[tokio::test(start_paused = true)]
async fn fields_of_fields_have_that_order_too() {
    let harness = Harness::new().await;
    let deployment = json!({"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"image": "i", "name": "c",
            "env": [{"value": "v", "name": "n"}], "ports": [{"containerPort": 1, "name": "p"}]}]}}}});
    let created = harness.post("/apis/apps/v1/namespaces/default/deployments", &deployment).await.text();
    let spec = &created[created.find("\"spec\":").unwrap()..];
    let wanted = "spec (replicas selector (matchLabels (a ))template (metadata (labels (a ))spec (containers \
        (name image ports (name containerPort protocol )env (name value )resources ()terminationMessagePath \
        terminationMessagePolicy imagePullPolicy )restartPolicy terminationGracePeriodSeconds dnsPolicy \
        securityContext ()schedulerName ))strategy (type rollingUpdate (maxUnavailable maxSurge ))\
        revisionHistoryLimit progressDeadlineSeconds )status ())";
    assert_eq!(order(spec), wanted);
}

#[tokio::test(start_paused = true)]
async fn custom_kinds_are_sorted() {
    let harness = Harness::with_widgets().await;
    let definitions =
        harness.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.golden.test").await;
    let text = definitions.text();
    let spec = &text[text.find("\"spec\":").unwrap()..];
    let wanted =
        "spec (group names (plural singular shortNames kind listKind )scope versions (name served storage ";
    assert!(order(spec).starts_with(wanted), "{spec}");
    let created = harness.post(WIDGETS, &widget("a", 1)).await.text();
    let wanted = "(apiVersion kind metadata (creationTimestamp generation ";
    assert!(order(&created).starts_with(wanted) && order(&created).ends_with("spec (size ))"), "{created}");
    let list = harness.get(WIDGETS).await.text();
    assert!(order(&list).starts_with("(apiVersion items (apiVersion kind metadata ("), "{list}");
    assert!(order(&list).ends_with("kind metadata (continue resourceVersion ))"), "{list}");
    let page = harness.get(&format!("{WIDGETS}?limit=1")).await.text();
    assert!(order(&page).ends_with("metadata (continue resourceVersion ))"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn errors_and_documents_are_structs() {
    let harness = Harness::with_widgets().await;
    let missing = harness.get(&format!("{MAPS}/a")).await.text();
    let wanted = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"a\" not found","reason":"NotFound","details":{"name":"a","kind":"configmaps"},"code":404}"#;
    assert_eq!(missing.trim_end(), wanted);
    for (path, wanted) in [
        ("/api", "(kind versions serverAddressByClientCIDRs (clientCIDR serverAddress ))"),
        ("/apis", "(kind apiVersion groups (name versions (groupVersion version )"),
        (
            "/apis/apps",
            "(kind apiVersion name versions (groupVersion version )preferredVersion (groupVersion version ))",
        ),
        (
            "/apis/apps/v1",
            "(kind apiVersion groupVersion resources (name singularName namespaced kind verbs ",
        ),
        (
            "/apis/golden.test/v1",
            "(kind apiVersion groupVersion resources (name singularName namespaced kind verbs shortNames ",
        ),
        (
            "/version",
            "(major minor emulationMajor emulationMinor minCompatibilityMajor minCompatibilityMinor gitVersion ",
        ),
    ] {
        let found = harness.get(path).await.text();
        assert!(order(&found).starts_with(wanted), "{path}: {found}");
    }
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let found = harness.accept("/apis", aggregated).await.text();
    let wanted = "(kind apiVersion metadata ()items (metadata (name )versions (version resources (resource responseKind (group version kind )scope singularResource verbs ";
    assert!(order(&found).starts_with(wanted), "{found}");
    let table = harness.accept(WIDGETS, "application/json;as=Table;v=v1;g=meta.k8s.io").await.text();
    let wanted = "(kind apiVersion metadata (resourceVersion )columnDefinitions (name type format description priority )";
    assert!(order(&table).starts_with(wanted), "{table}");
}
