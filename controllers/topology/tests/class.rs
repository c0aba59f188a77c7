//! The rules of the ClusterClass controller.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cluster_topology::class::{Discovered, Observed, Plan, Template, plan};
use kube::api::DynamicObject;
use schemas::HasConditions;
use schemas::cluster::{ClusterClass, ClusterClassVariable};
use schemas::meta::TemplateReference;
use serde_json::{Value, json};

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn reference(version: &str) -> TemplateReference {
    TemplateReference {
        api_version: format!("infrastructure.cluster.x-k8s.io/{version}"),
        kind: "DevClusterTemplate".to_owned(),
        name: "infra".to_owned(),
    }
}

fn template(version: &str, object: Result<Option<Value>, String>) -> Template {
    let parsed = |object: Value| Arc::new(serde_json::from_value::<DynamicObject>(object).unwrap());
    Template {
        reference: reference(version),
        object: object.map(|object| object.map(parsed)),
        newest_version: Ok("v1beta2".to_owned()),
    }
}

fn found(owners: Value) -> Result<Option<Value>, String> {
    Ok(Some(json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevClusterTemplate",
        "metadata": {"name": "infra", "namespace": "default", "ownerReferences": owners}})))
}

fn owner() -> Value {
    json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "name": "c", "uid": "u"}])
}

fn class(variables: Value) -> Arc<ClusterClass> {
    let class = json!({"metadata": {"name": "c", "namespace": "default", "uid": "u", "generation": 3},
        "spec": {"variables": variables}, "status": {"variables": [{"name": "before"}]}});
    Arc::new(serde_json::from_value(class).unwrap())
}

fn variable(name: &str, schema: Value) -> Value {
    json!({"name": name, "required": true, "schema": {"openAPIV3Schema": schema}})
}

fn observed(templates: Vec<Template>, variables: Value, discovered: Vec<Discovered>) -> Observed {
    Observed { class: class(variables), templates, discovered, now: now() }
}

fn condition(plan: &Plan, type_: &str) -> (String, String, String) {
    let found = plan.class.condition(type_).unwrap();
    (found.status.clone(), found.reason.clone(), found.message.clone())
}

#[test]
fn templates_get_an_owner_once() {
    let plan_of =
        |owners: Value| plan(&observed(vec![template("v1beta2", found(owners))], json!([]), vec![]));
    let first = plan_of(json!(null));
    assert_eq!(first.owned.len(), 1);
    let owners = serde_json::to_value(first.owned[0].2.metadata.owner_references.clone()).unwrap();
    assert_eq!(owners, owner());
    assert!(plan_of(owner()).owned.is_empty());
    assert!(first.errors.is_empty());
    assert_eq!(first.class.status.unwrap().observed_generation, Some(3));
}

#[test]
fn templates_of_no_provider_are_left_alone() {
    let problem = "CustomResourceDefinition podtemplates. does not exist".to_owned();
    let template = Template { newest_version: Err(problem.clone()), ..template("v1", found(json!(null))) };
    let plan = plan(&observed(vec![template], json!([]), vec![]));
    assert!(plan.owned.is_empty());
    assert_eq!(plan.errors, [problem]);
}

#[test]
fn versions_of_references() {
    let cases = [
        (template("v1beta2", found(owner())), ("True", "RefVersionsUpToDate", "")),
        (
            template("v1beta1", found(owner())),
            (
                "False",
                "RefVersionsNotUpToDate",
                "The following templateRefs are not using the latest apiVersion:\n* DevClusterTemplate infra: current: v1beta1, latest: v1beta2",
            ),
        ),
        (
            template("v1beta2", Ok(None)),
            (
                "Unknown",
                "InternalError",
                "Please check controller logs for errors: the template DevClusterTemplate infra (infrastructure.cluster.x-k8s.io/v1beta2) does not exist in the namespace of the class",
            ),
        ),
        (
            template("v1beta2", Err("no such kind".to_owned())),
            ("Unknown", "InternalError", "Please check controller logs for errors: no such kind"),
        ),
    ];
    for (template, (status, reason, message)) in cases {
        let is_missing = matches!(template.object, Ok(None));
        let is_error = status == "Unknown" && !is_missing;
        let plan = plan(&observed(vec![template], json!([]), vec![]));
        let expected = (status.to_owned(), reason.to_owned(), message.to_owned());
        assert_eq!(condition(&plan, "RefVersionsUpToDate"), expected);
        assert_eq!(!plan.errors.is_empty(), is_error, "{reason}: it is tried again");
        assert_eq!(!plan.missing.is_empty(), is_missing, "{reason}: a template comes with an event");
        let old = plan.class.status.unwrap().deprecated.unwrap().v1beta1.unwrap().conditions;
        assert_eq!(old[0].status, status, "{reason}: the same for older clients");
    }
}

#[test]
fn variables_are_sorted_with_everybody_who_defines_them() {
    let of_patch = |schema: Value| Discovered {
        patch: "external".to_owned(),
        variables: Ok(vec![
            serde_json::from_value::<ClusterClassVariable>(variable("size", schema)).unwrap(),
        ]),
    };
    let inline =
        || json!([variable("zone", json!({"type": "string"})), variable("size", json!({"type": "integer"}))]);
    let same = json!({"type": "integer", "exclusiveMaximum": false});
    let one = plan(&observed(vec![], inline(), vec![of_patch(same)]));
    assert_eq!(condition(&one, "VariablesReady").0, "True");
    let variables = one.class.status.unwrap().variables;
    let names: Vec<_> =
        variables.iter().map(|variable| (variable.name.as_str(), variable.definitions.len())).collect();
    assert_eq!(names, [("size", 2), ("zone", 1)]);
    assert_eq!(variables[0].definitions[1].from, "external");
    let two = plan(&observed(vec![], inline(), vec![of_patch(json!({"type": "string"}))]));
    let message = "VariableDiscovery failed: the following variables have conflicting schemas: size";
    let expected = ("False".to_owned(), "VariableDiscoveryFailed".to_owned(), message.to_owned());
    assert_eq!(condition(&two, "VariablesReady"), expected);
    assert_eq!(two.class.status.unwrap().variables[0].definitions_conflict, Some(true));
}

#[test]
fn an_extension_that_fails_leaves_the_variables_as_they_are() {
    let failed =
        Discovered { patch: "external".to_owned(), variables: Err("patch external: no answer".to_owned()) };
    let plan = plan(&observed(vec![], json!([variable("size", json!({"type": "integer"}))]), vec![failed]));
    assert_eq!(condition(&plan, "VariablesReady").2, "VariableDiscovery failed: patch external: no answer");
    let variables = plan.class.status.unwrap().variables;
    assert_eq!(variables.iter().map(|variable| variable.name.as_str()).collect::<Vec<_>>(), ["before"]);
    assert_eq!(plan.errors.len(), 1, "it is asked again");
}
