//! The Pod Security Standards that the labels of a namespace demand.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use machinery::status::Status;
use registry::{Context, Input, PatchBody, Registry, Subresource};
use serde_json::{Value, json};

use crate::registry::common::{self, context};

const RESTRICTED: &str = "allowPrivilegeEscalation != false (container \"c\" must set \
    securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"c\" must set \
    securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container \"c\" must set \
    securityContext.runAsNonRoot=true), seccompProfile (pod or container \"c\" must set \
    securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")";

struct Plane(Registry);

impl Plane {
    async fn new() -> Self {
        Self(common::registry().await.0)
    }

    async fn create(&self, context: &mut Context, plural: &str, object: Value) -> Result<Value, Status> {
        let (group, version) = machinery::meta::group_version(object["apiVersion"].as_str().unwrap());
        let served = self.0.served(group, version, plural).unwrap();
        let namespace = if served.definition.namespaced { "team" } else { "" };
        let written = self.0.create(context, &served, namespace, Input::new(object)).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    async fn namespace(&self, labels: Value) -> Result<Value, Status> {
        let object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": labels}});
        self.create(&mut context(), "namespaces", object).await
    }

    async fn pod(&self, context: &mut Context, name: &str, spec: Value) -> Result<Value, Status> {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec});
        if pod["spec"]["containers"].is_null() {
            pod["spec"]["containers"] = json!([{"name": "c", "image": "x"}]);
        }
        self.create(context, "pods", pod).await
    }
}

/// A pod that the level `restricted` allows.
fn decent() -> Value {
    json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "c", "image": "x", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        }}],
    })
}

#[tokio::test]
async fn restricted_pods_say_what_they_renounce() {
    let plane = Plane::new().await;
    plane.namespace(json!({"pod-security.kubernetes.io/enforce": "restricted"})).await.unwrap();
    plane.pod(&mut context(), "decent", decent()).await.unwrap();
    let refused = plane.pod(&mut context(), "p", json!({})).await.unwrap_err();
    let why = format!("pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": {RESTRICTED}");
    assert_eq!((refused.code, refused.message), (403, why));
    // A template is stored, and its author is warned.
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    let mut context = context();
    plane.create(&mut context, "deployments", deployment).await.unwrap();
    assert_eq!(context.warnings, [format!("would violate PodSecurity \"restricted:latest\": {RESTRICTED}")]);
}

#[tokio::test]
async fn the_baseline_keeps_pods_off_the_node() {
    let plane = Plane::new().await;
    plane.namespace(json!({"pod-security.kubernetes.io/enforce": "baseline"})).await.unwrap();
    plane.pod(&mut context(), "usual", json!({})).await.unwrap();
    let container = |more: Value| {
        let mut container = json!({"name": "c", "image": "x"});
        for (key, value) in more.as_object().unwrap() {
            container[key] = value.clone();
        }
        json!({"containers": [container]})
    };
    let secure = |context: Value| container(json!({"securityContext": context}));
    let table = [
        (json!({"hostNetwork": true, "hostPID": true}), "host namespaces (hostNetwork=true, hostPID=true)"),
        (json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), "hostPath volumes (volume \"v\")"),
        (
            container(
                json!({"ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 8, "hostPort": 8}]}),
            ),
            "hostPort (container \"c\" uses hostPorts 8, 80)",
        ),
        (
            container(json!({"livenessProbe": {"tcpSocket": {"port": 1, "host": "10.0.0.1"}}})),
            "probe or lifecycle host (container \"c\" uses probe or lifecycle host \"10.0.0.1\")",
        ),
        (
            secure(json!({"privileged": true})),
            "privileged (container \"c\" must not set securityContext.privileged=true)",
        ),
        (
            secure(json!({"capabilities": {"add": ["NET_ADMIN", "CHOWN"]}})),
            "non-default capabilities (container \"c\" must not include \"NET_ADMIN\" in \
             securityContext.capabilities.add)",
        ),
        (
            secure(json!({"seLinuxOptions": {"type": "t", "user": "u"}})),
            "seLinuxOptions (container \"c\" set forbidden securityContext.seLinuxOptions: type \"t\"; user may not \
             be set)",
        ),
        (
            json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}),
            "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        (
            json!({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}),
            "forbidden sysctls (kernel.msgmax)",
        ),
        (
            json!({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}),
            "forbidden AppArmor profile (pod must not set AppArmor profile type to \"Unconfined\")",
        ),
    ];
    for (spec, why) in table {
        let refused = plane.pod(&mut context(), "p", spec).await.unwrap_err();
        let why = format!("pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": {why}");
        assert_eq!(refused.message, why);
    }
}

#[tokio::test]
async fn older_versions_warnings_and_levels_of_their_own() {
    let plane = Plane::new().await;
    let labels = json!({
        "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.7",
        "pod-security.kubernetes.io/warn": "privileged",
    });
    plane.namespace(labels).await.unwrap();
    let mut context = context();
    plane.pod(&mut context, "p", json!({"securityContext": {"runAsNonRoot": true}})).await.unwrap();
    assert_eq!(context.warnings, [""; 0]);
}

#[tokio::test]
async fn a_namespace_that_gets_another_level_names_the_pods_that_break_it() {
    let plane = Plane::new().await;
    plane.namespace(json!({})).await.unwrap();
    for name in ["b", "a"] {
        plane.pod(&mut context(), name, json!({"hostNetwork": true})).await.unwrap();
    }
    let served = plane.0.served("", "v1", "namespaces").unwrap();
    let label = async |level: &str| {
        let patch = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}});
        let patch = PatchBody::Merge(patch.to_string().into());
        let mut context = context();
        let done = plane.0.patch(&mut context, &served, "", "team", Subresource::None, patch).await;
        (done.map(drop), context.warnings)
    };
    let (done, warnings) = label("baseline").await;
    done.unwrap();
    let all =
        "existing pods in namespace \"team\" violate the new PodSecurity enforce level \"baseline:latest\"";
    assert_eq!(warnings, [all, "a (and 1 other pod): host namespaces"]);
    let (refused, _) = label("strict").await;
    let why = "Namespace \"team\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \
               \"strict\": must be one of privileged, baseline, restricted";
    assert_eq!(refused.unwrap_err().message, why);
}
