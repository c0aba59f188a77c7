//! Who is asked to remediate an unhealthy Machine.

use super::*;

#[test]
fn the_owner_is_asked_once() {
    let failing = condition("HealthCheckSucceeded", "False", "UnhealthyNode", EARLY);
    let owner = |status: &str, reason: &str| {
        with_conditions(&[failing.clone(), condition("OwnerRemediated", status, reason, EARLY)])
    };
    let mut deleting = machine("a", json!({"metadata": {"deletionTimestamp": EARLY, "finalizers": ["x"]}}));
    json_patch(&mut deleting, with_conditions(&[]));
    let rows = [
        ("for the first time", json!({}), Some("WaitingForRemediation"), true),
        ("the last remediation is done", owner("True", "Remediated"), Some("WaitingForRemediation"), true),
        ("a remediation goes on", owner("False", "RemediationDeferred"), Some("RemediationDeferred"), false),
        ("it is deleted anyway", deleting, None, false),
    ];
    for (what, more, expected, is_new) in rows {
        let targets = vec![(machine("a", more), sick(EARLY), Reference::None)];
        let plan = plan(&observed(check(ready_for_10_s()), targets));
        let mark = &plan.marks[0];
        let reason = mark.wanted.condition("OwnerRemediated").map(|condition| condition.reason.as_str());
        assert_eq!((reason, mark.is_new), (expected, is_new), "{what}");
    }
}

fn external(kind: &str, value: Value) -> Reference {
    let group = "infrastructure.cluster.x-k8s.io";
    let api_version = format!("{group}/v1beta2");
    Reference::Found(ExternalObject {
        object: parse(&value),
        resource: ApiResource {
            group: group.to_owned(),
            version: "v1beta2".to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: engine::contract::plural(kind),
        },
        contract: "v1beta2",
    })
}

fn template() -> Reference {
    let strategy = json!({"strategy": {"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 300}});
    external(
        "Metal3RemediationTemplate",
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3RemediationTemplate",
            "metadata": {"name": "reboot", "namespace": "default"}, "spec": {"template": {"spec": strategy}}}),
    )
}

fn request(more: Value) -> Reference {
    let mut request = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Remediation",
        "metadata": {"name": "a", "namespace": "default"}});
    json_patch(&mut request, more);
    external("Metal3Remediation", request)
}

fn with_template() -> Value {
    let mut spec = ready_for_10_s();
    let reference = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3RemediationTemplate", "name": "reboot"});
    json_patch(&mut spec, json!({"remediation": {"templateRef": reference}}));
    spec
}

#[test]
fn an_external_controller_is_asked_by_an_object() {
    let targets = vec![(machine("a", json!({})), sick(EARLY), Reference::NotFound)];
    let observed = Observed { template: template(), ..observed(check(with_template()), targets) };
    let plan = plan(&observed);
    let mark = &plan.marks[0];
    let (request, resource) = mark.create.as_ref().unwrap();
    assert_eq!(
        (resource.kind.as_str(), resource.api_version.as_str()),
        ("Metal3Remediation", "infrastructure.cluster.x-k8s.io/v1beta2")
    );
    let wanted = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Remediation",
        "metadata": {"name": "a", "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": "plain"},
            "annotations": {"cluster.x-k8s.io/cloned-from-name": "reboot",
                "cluster.x-k8s.io/cloned-from-groupkind": "Metal3RemediationTemplate.infrastructure.cluster.x-k8s.io"},
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "a", "uid": "a"}]},
        "spec": {"strategy": {"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 300}},
    });
    assert_eq!(serde_json::to_value(request).unwrap(), wanted);
    assert!(mark.is_new && mark.wanted.condition("OwnerRemediated").is_none());
}

#[test]
fn what_a_machine_says_about_its_external_remediation() {
    let failing = condition("HealthCheckSucceeded", "False", "UnhealthyNode", EARLY);
    let with = |reason: &str| {
        with_conditions(&[failing.clone(), condition("ExternallyRemediated", "False", reason, EARLY)])
    };
    let removed = with_conditions(std::slice::from_ref(&failing));
    let deleting = json!({"metadata": {"deletionTimestamp": EARLY, "finalizers": ["x"]}});
    let failed = || Reference::Failed("no such kind".to_owned());
    let there = || request(json!({}));
    // What, the Machine, the object, the template, the reason, whether an object is created, whether there is an error.
    let rows = [
        (
            "it is asked for",
            json!({}),
            Reference::NotFound,
            template(),
            Some("WaitingForRemediation"),
            true,
            false,
        ),
        (
            "no template",
            json!({}),
            Reference::NotFound,
            Reference::NotFound,
            Some("RemediationTemplateNotFound"),
            false,
            false,
        ),
        (
            "no kind of templates",
            json!({}),
            Reference::NotFound,
            failed(),
            Some("RemediationTemplateNotFound"),
            false,
            true,
        ),
        ("no kind of objects", json!({}), failed(), template(), None, false, true),
        (
            "the process ended before it marked the Machine",
            json!({}),
            there(),
            template(),
            Some("WaitingForRemediation"),
            false,
            false,
        ),
        (
            "somebody else made the object",
            with("RemediationRequestCreationFailed"),
            there(),
            template(),
            Some("WaitingForRemediation"),
            false,
            false,
        ),
        (
            "the controller says something else",
            with("Rebooting"),
            there(),
            template(),
            Some("Rebooting"),
            false,
            false,
        ),
        ("the controller removed the condition", removed, there(), template(), None, false, false),
        ("the Machine is deleted anyway", deleting, Reference::NotFound, template(), None, false, false),
    ];
    for (what, more, request, template, expected, creates, fails) in rows {
        let targets = vec![(machine("a", more), sick(EARLY), request)];
        let observed = Observed { template, ..observed(check(with_template()), targets) };
        let plan = plan(&observed);
        let mark = &plan.marks[0];
        let reason = mark.wanted.condition("ExternallyRemediated").map(|condition| condition.reason.as_str());
        assert_eq!(
            (reason, mark.create.is_some(), !plan.errors.is_empty()),
            (expected, creates, fails),
            "{what}"
        );
        assert!(plan.delete.is_empty(), "{what}");
    }
}

#[test]
fn the_object_of_a_healthy_machine_is_deleted() {
    let owned_by = |uid: &str| {
        let owner =
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "a", "uid": uid});
        json!({"metadata": {"ownerReferences": [owner]}})
    };
    let mut deleting = owned_by("a");
    json_patch(&mut deleting, json!({"metadata": {"deletionTimestamp": EARLY, "finalizers": ["x"]}}));
    let of = |kind: &str| json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": "a"});
    let infrastructure = json!({"spec": {"infrastructureRef": of("Metal3Remediation")}});
    let bootstrap = json!({"spec": {"bootstrap": {"configRef": of("Metal3Remediation")}}});
    let rows = [
        ("healthy again", json!({}), ready(), request(owned_by("a")), 1),
        ("already being deleted", json!({}), ready(), request(deleting), 0),
        ("not judged yet", json!({}), sick(RECENT), request(owned_by("a")), 0),
        ("nothing was asked", json!({}), ready(), Reference::NotFound, 0),
        ("of nobody", json!({}), ready(), request(json!({})), 0),
        ("of another Machine", json!({}), ready(), request(owned_by("b")), 0),
        ("the machine itself", infrastructure, ready(), request(owned_by("a")), 0),
        ("its bootstrap", bootstrap, ready(), request(owned_by("a")), 0),
    ];
    for (what, more, node, request, deleted) in rows {
        let targets = vec![(machine("a", more), node, request)];
        let observed = Observed { template: template(), ..observed(check(with_template()), targets) };
        assert_eq!(plan(&observed).delete.len(), deleted, "{what}");
    }
}
