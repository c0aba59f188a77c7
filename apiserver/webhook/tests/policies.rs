//! Policies and match conditions that ask what users may do.

use std::sync::Arc;

use chrono::{DateTime, TimeZone, Utc};
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use registry::permissions::{Permissions, Permits, Subject};
use registry::{Context, Input, Options, Registry, User};
use serde_json::{Value, json};
use store::{Key, Memory, Operation, Store};

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 3, 0, 0).unwrap()
}

/// Members of the group `writers` may write ConfigMaps of the namespace `default`, and all may read `/open`.
struct Rules;

impl Permits for Rules {
    fn permits(&self, user: &User, verb: &str, subject: &Subject) -> (bool, String) {
        let allowed = match subject {
            Subject::Path(path) => path == "/open" && verb == "get",
            Subject::Resource(resource) => {
                let wanted = (resource.resource.as_str(), resource.namespace.as_str());
                let member = |group: &str| user.groups.iter().any(|one| one == group);
                wanted == ("configmaps", "default")
                    && (member("writers") || member("system:serviceaccounts:robots"))
            }
        };
        (allowed, format!("asked for {}", user.name))
    }
}

struct Plane(Registry, Store);

impl Plane {
    async fn new() -> Self {
        let clock = Clock::simulated(now());
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let registry = Registry::open(store.clone(), clock, Random::seeded(1), Options::default());
        Self(registry.await.unwrap(), store)
    }

    async fn create(&self, groups: &[&str], object: Value) -> Result<(), Status> {
        let (group, version) = machinery::meta::group_version(object["apiVersion"].as_str().unwrap());
        let definitions = self.0.definitions();
        let definition = definitions.by_kind(group, object["kind"].as_str().unwrap()).unwrap();
        let served = self.0.served(group, version, &definition.plural).unwrap();
        let mut context = Context {
            user: User::new("ann", groups.iter().copied()),
            permissions: Permissions::new(Arc::new(Rules)),
            ..Context::default()
        };
        let namespace = if definition.namespaced { "default" } else { "" };
        self.0.create(&mut context, &served, namespace, Input::new(object)).await.map(drop)
    }

    /// Creates a policy of ConfigMaps, and its binding.
    async fn policy(&self, spec: Value) {
        self.unbound(spec).await;
        self.bind().await;
    }

    /// Creates a policy and its binding as if an older server had stored it, which does not check `spec`.
    async fn older_policy(&self, spec: Value) {
        self.unbound(json!({"validations": [{"expression": "true"}]})).await;
        let (group, plural) = ("admissionregistration.k8s.io", "validatingadmissionpolicies");
        let key = Key::new(group, plural, None, "rules").unwrap();
        let stored = self.1.get(&key).unwrap();
        let mut policy: Value = serde_json::from_slice(&stored.value).unwrap();
        for (key, value) in spec.as_object().unwrap() {
            policy["spec"][key] = value.clone();
        }
        let text = policy.to_string();
        let update = Operation::update(key, stored.mod_revision, move |_| text.into());
        self.1.commit(vec![update]).await.unwrap();
        self.bind().await;
    }

    async fn unbound(&self, spec: Value) {
        self.unbound_as(&[], spec).await;
    }

    async fn unbound_as(&self, groups: &[&str], spec: Value) {
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
        let mut policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "rules"}, "spec": {"matchConstraints": {"resourceRules": [rule]}}});
        for (key, value) in spec.as_object().unwrap() {
            policy["spec"][key] = value.clone();
        }
        self.create(groups, policy).await.unwrap();
    }

    async fn bind(&self) {
        let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "bound"}, "spec": {"policyName": "rules", "validationActions": ["Deny"]}});
        self.create(&[], binding).await.unwrap();
    }
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"team": "a"}}})
}

#[tokio::test]
async fn policies_ask_what_users_may_do() {
    let plane = Plane::new().await;
    plane
        .policy(json!({
            "matchConditions": [{"name": "open", "expression": "authorizer.path('/open').check('get').allowed()"}],
            "variables": [{"name": "may", "expression": "authorizer.requestResource.check('write')"}],
            "validations": [
                {"expression": "variables.may.allowed()", "messageExpression": "string(variables.may.reason())"},
                {"expression": "authorizer.serviceAccount('robots', 'one').group('').resource('configmaps')\
                    .namespace('default').check('x').allowed()"},
            ],
        }))
        .await;
    plane.create(&["writers"], config_map("a")).await.unwrap();
    let refused = plane.create(&["readers"], config_map("b")).await.unwrap_err();
    assert!(refused.message.ends_with("denied request: asked for ann"), "{}", refused.message);
}

#[tokio::test]
async fn policies_know_the_namespace() {
    let plane = Plane::new().await;
    plane
        .policy(json!({"validations": [{
            "expression": "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'other'",
            "messageExpression": "namespaceObject.metadata.labels['kubernetes.io/metadata.name']",
        }, {"expression": "request.options.fieldManager == ''"}]}))
        .await;
    let refused = plane.create(&[], config_map("a")).await.unwrap_err();
    assert!(refused.message.ends_with("denied request: default"), "{}", refused.message);
}

#[tokio::test]
async fn conditions_do_not_know_the_namespace() {
    let plane = Plane::new().await;
    let condition = json!({"name": "none", "expression": "dyn(namespaceObject) == null"});
    plane.policy(json!({"matchConditions": [condition], "validations": [{"expression": "false"}]})).await;
    let refused = plane.create(&[], config_map("a")).await.unwrap_err();
    assert!(refused.message.ends_with("denied request: failed expression: false"), "{}", refused.message);
}

#[tokio::test]
async fn policies_that_do_not_compile_refuse() {
    let wrong = "1 + 'a'";
    let validation = json!([{"expression": wrong, "reason": "Forbidden"}]);
    let variable = json!({
        "variables": [{"name": "v", "expression": wrong}],
        "validations": [{"expression": "variables.v == 2"}],
    });
    let failed = "compilation failed: ERROR: <input>:1:";
    let table = [
        (json!({"validations": validation}), Some(format!("compilation error: {failed}"))),
        (json!({"validations": validation, "failurePolicy": "Ignore"}), None),
        (
            variable,
            Some(format!(
                "expression 'variables.v == 2' resulted in error: composited variable \"v\" fails to compile: \
                 {failed}"
            )),
        ),
    ];
    for (spec, words) in table {
        let plane = Plane::new().await;
        plane.older_policy(spec).await;
        let done = plane.create(&[], config_map("a")).await;
        let Some(words) = words else {
            done.unwrap();
            continue;
        };
        let refused = done.unwrap_err();
        let why = format!("ValidatingAdmissionPolicy 'rules' with binding 'bound' denied request: {words}");
        assert!(refused.message.contains(&why), "{}", refused.message);
        assert_eq!((refused.code, refused.reason), (422, "Invalid"));
    }
}

/// Without permissions of their own, requests are those of the server itself.
#[tokio::test]
async fn requests_of_the_server_may_everything() {
    let plane = Plane::new().await;
    let asking = "authorizer.requestResource.check('write').allowed()";
    plane.policy(json!({"validations": [{"expression": asking}]})).await;
    let served = plane.0.served("", "v1", "configmaps").unwrap();
    for (mut context, may) in [(Context::internal("test"), true), (Context::default(), false)] {
        let created = plane.0.create(&mut context, &served, "default", Input::new(config_map("a"))).await;
        assert_eq!(created.is_ok(), may);
    }
}

/// A policy shows parameters to everybody, so whoever writes it or binds it must be allowed to read them.
#[tokio::test]
async fn parameters_are_for_those_who_may_read_them() {
    let group = "admissionregistration.k8s.io/v1";
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let refused_words =
        |words: &str| format!("Forbidden: user &{{ann  [readers system:authenticated] map[]}} {words}");
    for (kind, spec, last) in [
        (
            "ValidatingAdmissionPolicy",
            json!({"validations": [{"expression": "true"}]}),
            refused_words("does not have \"get\" permission on the object referenced by paramRef"),
        ),
        (
            "MutatingAdmissionPolicy",
            json!({"reinvocationPolicy": "Never", "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]}),
            // As in kube-apiserver, the user and the verb have changed their places.
            "Forbidden: user get does not have \"&{ann  [readers system:authenticated] map[]}\" permission on the \
             object referenced by paramRef"
                .to_owned(),
        ),
    ] {
        let plane = Plane::new().await;
        let mut policy = json!({"apiVersion": group, "kind": kind, "metadata": {"name": "rules"}, "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": {"resourceRules": [rule]}}});
        for (key, value) in spec.as_object().unwrap() {
            policy["spec"][key] = value.clone();
        }
        let refused = plane.create(&["readers"], policy.clone()).await.unwrap_err();
        let words = "must have \"get\" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)";
        let wanted = format!("spec.paramKind: {}", refused_words(words));
        assert!(refused.message.ends_with(&wanted), "{}", refused.message);
        let binding = |namespace: &str| {
            let mut spec = json!({"policyName": "rules",
                "paramRef": {"name": "a", "namespace": namespace, "parameterNotFoundAction": "Allow"}});
            if kind.starts_with("Validating") {
                spec["validationActions"] = json!(["Deny"]);
            }
            json!({"apiVersion": group, "kind": format!("{kind}Binding"), "metadata": {"name": "bound"}, "spec": spec})
        };
        let refused = plane.create(&["readers"], binding("default")).await.unwrap_err();
        assert!(refused.message.contains("unable to get policy rules to determine"), "{}", refused.message);
        plane.create(&["system:masters"], policy.clone()).await.unwrap();
        let refused = plane.create(&["readers"], binding("default")).await.unwrap_err();
        assert!(refused.message.ends_with(&format!("spec.paramRef: {last}")), "{}", refused.message);
        plane.create(&["writers"], binding("other")).await.unwrap_err();
        plane.create(&["writers"], binding("default")).await.unwrap();
        // Of a version that is not served, nobody knows the resource.
        policy["metadata"]["name"] = "unserved".into();
        policy["spec"]["paramKind"]["apiVersion"] = "v7".into();
        plane.create(&["system:masters"], policy).await.unwrap();
        let mut unserved = binding("default");
        unserved["metadata"]["name"] = "unserved".into();
        unserved["spec"]["policyName"] = "unserved".into();
        let refused = plane.create(&["writers"], unserved).await.unwrap_err();
        let words = "unable to resolve paramKind &ParamKind{APIVersion:v7,Kind:ConfigMap,} to determine";
        assert!(refused.message.contains(words), "{}", refused.message);
    }
}

/// An error of the configuration is refused whatever the actions of the binding are.
#[tokio::test]
async fn parameters_that_are_not_there_are_refused() {
    let policy = "ValidatingAdmissionPolicy 'rules'";
    let missing = "no params found for policy binding with `Deny` parameterNotFoundAction";
    let unknown = "failed to find resource referenced by paramKind: '/v1, Kind=Nothing'";
    for (kind, failures, why) in [
        (
            "ConfigMap",
            "Fail",
            Some(format!(
                "{policy} with binding 'bound' denied request: failed to configure binding: {missing}"
            )),
        ),
        ("Nothing", "Fail", Some(format!("{policy} denied request: failed to configure policy: {unknown}"))),
        ("Nothing", "Ignore", None),
    ] {
        let plane = Plane::new().await;
        let spec = json!({"failurePolicy": failures, "paramKind": {"apiVersion": "v1", "kind": kind},
            "validations": [{"expression": "false"}]});
        plane.unbound_as(&["system:masters"], spec).await;
        let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "bound"}, "spec": {"policyName": "rules", "validationActions": ["Warn"],
                "paramRef": {"name": "none", "parameterNotFoundAction": "Deny"}}});
        plane.create(&["system:masters"], binding).await.unwrap();
        match (plane.create(&[], config_map("a")).await, why) {
            (Ok(()), None) => {}
            (Err(refused), Some(why)) => {
                assert_eq!((refused.code, refused.reason), (422, "Invalid"));
                assert!(refused.message.ends_with(&why), "{}", refused.message);
            }
            (answer, why) => panic!("{answer:?} {why:?}"),
        }
    }
}
