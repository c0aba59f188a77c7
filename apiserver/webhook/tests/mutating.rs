//! MutatingAdmissionPolicies: what they make of an object, and which requests they refuse.

use chrono::{DateTime, TimeZone, Utc};
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use registry::{Context, Input, Options, PatchBody, Registry, Subresource, User};
use serde_json::{Value, json};
use store::{Memory, Store};

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 3, 0, 0).unwrap()
}

struct Plane(Registry);

impl Plane {
    async fn new() -> Self {
        let clock = Clock::simulated(now());
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        Self(Registry::open(store, clock, Random::seeded(1), Options::default()).await.unwrap())
    }

    fn context() -> Context {
        Context { user: User::new("ann", ["writers"]), field_manager: "test".into(), ..Context::default() }
    }

    async fn create(&self, mut object: Value) -> Result<Value, Status> {
        if object["apiVersion"].is_null() {
            object["apiVersion"] = "v1".into();
        }
        let (group, version) = machinery::meta::group_version(object["apiVersion"].as_str().unwrap());
        let definitions = self.0.definitions();
        let definition = definitions.by_kind(group, object["kind"].as_str().unwrap()).unwrap();
        let served = self.0.served(group, version, &definition.plural).unwrap();
        let namespace = if definition.namespaced { "default" } else { "" };
        let written = self.0.create(&mut Self::context(), &served, namespace, Input::new(object)).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    async fn patch(&self, plural: &str, part: Subresource, patch: Value) -> Result<Value, Status> {
        let group = if plural == "deployments" { "apps" } else { "" };
        let served = self.0.served(group, "v1", plural).unwrap();
        let patch = PatchBody::Merge(patch.to_string().into());
        let written = self.0.patch(&mut Self::context(), &served, "default", "x", part, patch).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    /// Creates a policy and its binding; `given` has the expressions, and what differs from the usual.
    async fn policy(&self, name: &str, given: &Value) {
        let group = "admissionregistration.k8s.io/v1";
        let rule = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
            "resources": ["configmaps", "pods", "deployments", "deployments/scale", "gadgets"]});
        let mut mutations = Vec::new();
        for (kind, field, short) in
            [("JSONPatch", "jsonPatch", "patch"), ("ApplyConfiguration", "applyConfiguration", "apply")]
        {
            if given[short].is_string() {
                mutations.push(json!({"patchType": kind, field: {"expression": given[short]}}));
            }
        }
        let mut policy = json!({"apiVersion": group, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name},
            "spec": {"reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [rule]}, "mutations": mutations}});
        let mut binding = json!({"apiVersion": group, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": {"policyName": name}});
        for (object, more) in [(&mut policy, &given["spec"]), (&mut binding, &given["binding"])] {
            for (key, value) in more.as_object().into_iter().flatten() {
                object["spec"][key] = value.clone();
            }
        }
        self.create(policy).await.unwrap();
        if given.get("binding").is_none_or(Value::is_object) {
            self.create(binding).await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_policies_make_of_an_object() {
    let table: Vec<Value> = serde_json::from_str(include_str!("data/mutating.json")).unwrap();
    assert!(table.len() > 25);
    let mut differ = Vec::new();
    for case in table {
        let plane = Plane::new().await;
        for object in case["given"].as_array().into_iter().flatten() {
            plane.create(object.clone()).await.unwrap();
        }
        for (number, policy) in case["policies"].as_array().unwrap().iter().enumerate() {
            plane.policy(&format!("p{number}"), policy).await;
        }
        let found = match plane.create(case["object"].clone()).await {
            Ok(created) => {
                let paths = case["wanted"].as_object().into_iter().flatten();
                let found =
                    paths.map(|(path, _)| (path.clone(), created.pointer(path).cloned().unwrap_or_default()));
                json!({"wanted": found.collect::<serde_json::Map<_, _>>()})
            }
            Err(status) => {
                let causes = status.details.iter().flat_map(|details| details["causes"].as_array()).flatten();
                let more = causes.skip(1).map(|cause| cause["message"].clone());
                let first = [json!(status.code), json!(status.reason), json!(status.message)];
                json!({"refused": first.into_iter().chain(more).collect::<Vec<_>>()})
            }
        };
        let wanted = if case["refused"].is_null() {
            json!({"wanted": case["wanted"]})
        } else {
            json!({"refused": case["refused"]})
        };
        if found != wanted {
            differ.push(format!("{}:\n  {found}\n  {wanted}", case["name"]));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[tokio::test]
async fn updates_and_subresources() {
    let plane = Plane::new().await;
    let container = json!({"name": "a", "image": "a"});
    plane
        .create(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}}}))
        .await
        .unwrap();
    plane
        .create(
            json!({"kind": "ConfigMap", "metadata": {"name": "x"}, "immutable": true, "data": {"a": "b"}}),
        )
        .await
        .unwrap();
    let only = |name: &str| json!([{"name": "c", "expression": name}]);
    let scales = "request.kind.kind == 'Scale'";
    plane
        .policy(
            "scales",
            &json!({"apply": "Object{spec: Object.spec{replicas: oldObject.spec.replicas + 5}}",
            "spec": {"matchConditions": only(scales)}}),
        )
        .await;
    let names = "request.operation == 'UPDATE' && has(object.metadata.labels) && object.metadata.labels.rename == 'yes'";
    plane
        .policy(
            "names",
            &json!({"patch": "[JSONPatch{op: 'replace', path: '/metadata/name', value: 'y'}]",
            "spec": {"matchConditions": only(names)}}),
        )
        .await;
    let data = "request.operation == 'UPDATE' && has(object.metadata.labels) && object.metadata.labels.change == 'yes'";
    plane
        .policy(
            "data",
            &json!({"apply": "Object{data: {'a': 'c'}}", "spec": {"matchConditions": only(data)}}),
        )
        .await;
    let scaled =
        plane.patch("deployments", Subresource::Scale, json!({"spec": {"replicas": 1}})).await.unwrap();
    assert_eq!(scaled["spec"]["replicas"], 7);
    for (label, why) in [
        ("rename", "metadata.name: Invalid value: \"y\": field is immutable"),
        ("change", "data: Forbidden: field is immutable when `immutable` is set"),
    ] {
        let labels = json!({"metadata": {"labels": {label: "yes", "rename": if label == "rename" { "yes" } else { "no" },
            "change": if label == "change" { "yes" } else { "no" }}}});
        let refused = plane.patch("configmaps", Subresource::None, labels).await.unwrap_err();
        assert_eq!(refused.code, 422);
        assert!(refused.message.contains(why), "{}", refused.message);
    }
}

/// Policies see custom objects in the version of their rules, and merge them by their schema.
#[tokio::test]
async fn custom_objects() {
    let plane = Plane::new().await;
    let item = json!({"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}, "value": {"type": "integer", "default": 1}}});
    let list = json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "keyed": list, "whole": {"type": "array", "items": {"type": "string"}}}}}});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
    plane
        .create(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.test.example.com"},
            "spec": {"group": "test.example.com", "scope": "Namespaced",
                "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
                "versions": [version("v1", true), version("v2", false)]}}))
        .await
        .unwrap();
    let rule = json!({"apiGroups": ["test.example.com"], "apiVersions": ["v2"], "operations": ["CREATE"], "resources": ["gadgets"]});
    let spec = json!({"matchConstraints": {"resourceRules": [rule]}});
    let items = "Object{spec: Object.spec{keyed: [Object.spec.keyed{key: 'b', value: 3}, Object.spec.keyed{key: object.apiVersion}]}}";
    plane.policy("items", &json!({"apply": items, "spec": spec})).await;
    let gadget = json!({"apiVersion": "test.example.com/v1", "kind": "Gadget", "metadata": {"name": "x"},
        "spec": {"keyed": [{"key": "a"}, {"key": "b", "value": 2}], "whole": ["a"]}});
    let created = plane.create(gadget.clone()).await.unwrap();
    assert_eq!(created["apiVersion"], "test.example.com/v1");
    let wanted = json!([{"key": "a", "value": 1}, {"key": "b", "value": 3}, {"key": "test.example.com/v2", "value": 1}]);
    assert_eq!(created["spec"]["keyed"], wanted);
    plane.policy("whole", &json!({"apply": "Object{spec: Object.spec{whole: ['b']}}", "spec": spec})).await;
    let refused = plane.create(gadget).await.unwrap_err();
    assert!(
        refused.message.ends_with("may not mutate atomic arrays, maps or structs: .spec.whole"),
        "{}",
        refused.message
    );
}

/// A policy is refused with the words of the compiler, policies are not changed by policies, and nobody owns what they set.
#[tokio::test]
async fn what_policies_are_and_are_not_for() {
    let plane = Plane::new().await;
    let group = "admissionregistration.k8s.io/v1";
    let rule = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]});
    let policy = |expression: &str| {
        json!({"apiVersion": group, "kind": "MutatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": {
            "reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [rule]},
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]}})
    };
    let refused = plane.create(policy("Object{metadata: 1 + 'a'}")).await.unwrap_err();
    assert_eq!(
        refused.message,
        "MutatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: \
         spec.mutations[0].applyConfiguration.expression: Invalid value: \"Object{metadata: 1 + 'a'}\": compilation failed: \
         ERROR: <input>:1:20: found no matching overload for '_+_' applied to '(int, string)'\n | Object{metadata: 1 + 'a'}\n \
         | ...................^"
    );
    plane.create(policy("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")).await.unwrap();
    let binding = json!({"apiVersion": group, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "p"},
        "spec": {"policyName": "p"}});
    plane.create(binding).await.unwrap();
    let mut other = policy("Object{}");
    other["metadata"]["name"] = "q".into();
    let created = plane.create(other).await.unwrap();
    assert_eq!(created["metadata"]["labels"], Value::Null);
    let created = plane.create(json!({"kind": "Secret", "metadata": {"name": "s"}})).await.unwrap();
    assert_eq!(created["metadata"]["labels"], json!({"a": "b"}));
    // Fields that policies set belong to nobody.
    let managers = created["metadata"]["managedFields"].to_string();
    assert!(!managers.contains("f:labels"), "{managers}");
}
