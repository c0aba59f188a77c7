//! Kinds that are stored, validated and listed, but have no controller in this server.

use serde_json::{Value, json};

use crate::serving::http::common::Harness;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "manager", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "manager"}},
            "template": {
                "metadata": {"labels": {"app": "manager"}},
                "spec": {
                    "serviceAccountName": "manager",
                    "containers": [{
                        "name": "manager", "image": "example.com/manager:v1", "args": ["--leader-elect"],
                        "ports": [{"containerPort": 9443, "name": "webhook"}],
                        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "healthz"}},
                        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
                        "volumeMounts": [{"mountPath": "/certs", "name": "cert", "readOnly": true}],
                    }],
                    "volumes": [{"name": "cert", "secret": {"secretName": "cert"}}],
                },
            },
        },
    })
}

#[tokio::test]
async fn a_deployment_is_completed_and_kept() {
    let harness = Harness::new().await;
    let created = harness.post(DEPLOYMENTS, &deployment()).await;
    assert_eq!(created.code, 201, "{}", created.text());
    let object = created.json();
    assert_eq!(object["metadata"]["generation"], 1);
    assert_eq!(object["status"], json!({}));
    let spec = &object["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxSurge": "25%", "maxUnavailable": "25%"}));
    let expected = json!({
        "containers": [{
            "name": "manager", "image": "example.com/manager:v1", "imagePullPolicy": "IfNotPresent",
            "args": ["--leader-elect"],
            "ports": [{"containerPort": 9443, "name": "webhook", "protocol": "TCP"}],
            "readinessProbe": {
                "httpGet": {"path": "/readyz", "port": "healthz", "scheme": "HTTP"},
                "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1,
            },
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "volumeMounts": [{"mountPath": "/certs", "name": "cert", "readOnly": true}],
        }],
        "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
        "securityContext": {}, "serviceAccount": "manager", "serviceAccountName": "manager",
        "terminationGracePeriodSeconds": 30,
        "volumes": [{"name": "cert", "secret": {"defaultMode": 420, "secretName": "cert"}}],
    });
    assert_eq!(spec["template"]["spec"], expected);
    let path = format!("{DEPLOYMENTS}/manager");
    let headers = [("content-type", "application/json")];
    let again = harness.call("PUT", &path, &headers, deployment().to_string().as_bytes()).await;
    assert_eq!(again.json()["metadata"]["generation"], 1, "{}", again.text());
    let scale = harness.get(&format!("{path}/scale")).await.json();
    assert_eq!(scale["status"], json!({"replicas": 0, "selector": "app=manager"}));
    let headers = [("content-type", "application/strategic-merge-patch+json")];
    let patch = br#"{"spec":{"template":{"spec":{"containers":[{"name":"manager","image":"x:v2"}]}}}}"#;
    let patched = harness.call("PATCH", &path, &headers, patch).await.json();
    let container = &patched["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["args"]), (&json!("x:v2"), &json!(["--leader-elect"])));
    assert_eq!(patched["metadata"]["generation"], 2);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let harness = Harness::new().await;
    let change = |pointer: &str, value: Value| {
        let mut object = deployment();
        *object.pointer_mut(pointer).unwrap() = value;
        object
    };
    for (object, message) in [
        (
            change("/spec/template/metadata/labels/app", "other".into()),
            "Deployment.apps \"manager\" is invalid: spec.template.metadata.labels: Invalid value: \
             {\"app\":\"other\"}: `selector` does not match template `labels`",
        ),
        (
            change("/spec/template/spec/containers/0/image", "".into()),
            "Deployment.apps \"manager\" is invalid: spec.template.spec.containers[0].image: Required value",
        ),
        (
            change("/spec/template/spec/containers", json!([])),
            "Deployment.apps \"manager\" is invalid: spec.template.spec.containers: Required value",
        ),
        (
            change("/spec/template/spec/volumes/0/name", "else".into()),
            "Deployment.apps \"manager\" is invalid: \
             spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"cert\"",
        ),
    ] {
        let answer = harness.post(DEPLOYMENTS, &object).await;
        assert_eq!((answer.code, answer.message().as_str()), (422, message));
    }
    let quantity = change("/spec/template/spec/containers/0/resources/limits/cpu", "many".into());
    let answer = harness.post(DEPLOYMENTS, &quantity).await;
    assert_eq!(answer.code, 400, "{}", answer.text());
    assert!(answer.message().contains("quantities must match the regular expression"), "{}", answer.text());
}

#[tokio::test]
async fn every_kind_is_listed_and_described() {
    let harness = Harness::new().await;
    let groups = harness.get("/apis").await.json();
    let groups = groups["groups"].as_array().unwrap().iter();
    let versions = groups.flat_map(|group| group["versions"].as_array().unwrap().clone());
    let paths = versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
    for path in std::iter::once("/api/v1".to_owned()).chain(paths) {
        let document = harness.get(&format!("/openapi/v3{path}")).await;
        assert_eq!(document.code, 200, "{path}");
        let document = document.text();
        // Every reference resolves.
        let parsed: Value = serde_json::from_str(&document).unwrap();
        for reference in document.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(parsed["components"]["schemas"][name].is_object(), "{path}: {name}");
        }
        for resource in harness.get(&path).await.json()["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            let lists =
                resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "list"));
            if !lists || name.contains('/') {
                continue;
            }
            let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
            let table = harness.accept(&format!("{path}/{name}"), accept).await;
            assert_eq!((table.code, table.json()["kind"].as_str()), (200, Some("Table")), "{path}/{name}");
        }
    }
    let v2 = harness.get("/openapi/v2").await.json();
    assert!(v2["definitions"]["io.k8s.api.core.v1.PodSpec"].is_object());
}

#[tokio::test]
async fn columns() {
    let harness = Harness::new().await;
    harness.post(DEPLOYMENTS, &deployment()).await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "webhook"},
        "spec": {"clusterIP": "10.0.0.9", "ports": [{"port": 443, "targetPort": "webhook"}], "selector": {"app": "manager"}},
    });
    let created = harness.post("/api/v1/namespaces/default/services", &service).await;
    assert_eq!(created.code, 201, "{}", created.text());
    assert_eq!(created.json()["status"], json!({"loadBalancer": {}}));
    for (path, cells) in [
        (
            DEPLOYMENTS,
            json!(["manager", "0/1", 0, 0, "0s", "manager", "example.com/manager:v1", "app=manager"]),
        ),
        (
            "/api/v1/namespaces/default/services",
            json!(["webhook", "ClusterIP", "10.0.0.9", "<none>", "443/TCP", "0s", "app=manager"]),
        ),
    ] {
        let table = harness.accept(path, "application/json;as=Table;v=v1;g=meta.k8s.io").await.json();
        assert_eq!(table["rows"][0]["cells"], cells);
    }
}

#[tokio::test]
async fn webhook_configurations() {
    let harness = Harness::new().await;
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let mut object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "capi"},
        "webhooks": [{
            "name": "validation.cluster.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"name": "webhook", "namespace": "default", "path": "/validate"}},
            "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
                       "resources": ["clusters"]}],
        }],
    });
    let webhook = harness.post(path, &object).await.json()["webhooks"][0].clone();
    assert_eq!(webhook["clientConfig"]["service"]["port"], 443);
    assert_eq!(webhook["rules"][0]["scope"], "*");
    assert_eq!((&webhook["failurePolicy"], &webhook["matchPolicy"]), (&json!("Fail"), &json!("Equivalent")));
    assert_eq!((&webhook["timeoutSeconds"], &webhook["objectSelector"]), (&json!(10), &json!({})));
    object["metadata"]["name"] = "bad".into();
    object["webhooks"][0]["name"] = "short".into();
    object["webhooks"][0]["sideEffects"] = Value::Null;
    object["webhooks"][0]["matchConditions"] = json!([{"name": "x", "expression": "nothing.x"}]);
    let answer = harness.post(path, &object).await.message();
    for part in [
        "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
        "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
        "webhooks[0].matchConditions[0].expression: Invalid value: \"nothing.x\": compilation failed: ERROR: \
         <input>:1:1: undeclared reference to 'nothing'",
    ] {
        assert!(answer.contains(part), "{answer}");
    }
}
