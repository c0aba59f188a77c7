//! Which MutatingAdmissionPolicies and bindings are refused, and why.

use serde_json::{Value, json};

fn problems(plural: &str, object: &Value) -> Vec<String> {
    let definition = kinds::definitions().iter().find(|one| one.plural == plural).unwrap();
    let errors = kinds::strategy(definition).validate(object);
    errors.iter().map(ToString::to_string).collect()
}

fn found(spec: Value) -> Vec<String> {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let mut policy = json!({"metadata": {"name": "rules"}, "spec": {
        "failurePolicy": "Fail", "reinvocationPolicy": "Never",
        "matchConstraints": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [rule]},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]}});
    for (key, value) in spec.as_object().unwrap() {
        policy["spec"][key] = value.clone();
    }
    problems("mutatingadmissionpolicies", &policy)
}

fn mutation(mutation: Value) -> Vec<String> {
    found(json!({"mutations": [mutation]}))
}

#[test]
fn mutations() {
    let apply =
        |text: &str| json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}});
    let patch = |text: &str| json!({"patchType": "JSONPatch", "jsonPatch": {"expression": text}});
    assert_eq!(
        mutation(apply("Object{metadata: Object.metadata{labels: {'a': object.metadata.name}}}")),
        [""; 0]
    );
    assert_eq!(mutation(patch("[JSONPatch{op: 'add', path: '/a', value: 1}]")), [""; 0]);
    let place = "spec.mutations[0]";
    for (given, wanted) in [
        (
            json!([]),
            vec!["spec.mutations: Required value: mutations must contain at least one item".to_owned()],
        ),
        (
            json!([{"patchType": "Other"}]),
            vec![format!(
                "{place}.patchType: Unsupported value: \"Other\": supported values: \"ApplyConfiguration\", \"JSONPatch\""
            )],
        ),
        (json!([{"patchType": ""}]), vec![format!("{place}.patchType: Required value")]),
        (
            json!([{"patchType": "JSONPatch"}]),
            vec![format!("{place}.jsonPatch: Required value: must be specified when patchType is JSONPatch")],
        ),
        (
            json!([{"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"},
            "jsonPatch": {"expression": "[JSONPatch{}]"}}]),
            vec![format!(
                "{place}.applyConfiguration: Invalid value: \"{{applyConfiguration}}\": \
                must not be specified when patchType is JSONPatch"
            )],
        ),
        (
            json!([{"patchType": "ApplyConfiguration", "jsonPatch": {"expression": ""}}]),
            vec![
                format!(
                    "{place}.applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration"
                ),
                format!(
                    "{place}.jsonPatch: Invalid value: \"{{jsonPatch}}\": must not be specified when patchType is ApplyConfiguration"
                ),
            ],
        ),
        (json!([apply(" ")]), vec![format!("{place}.applyConfiguration.expression: Required value")]),
        (
            json!([apply(" object ")]),
            vec![format!(
                "{place}.applyConfiguration.expression: Invalid value: \"object\": must evaluate to Object but got dyn"
            )],
        ),
        (
            json!([patch("[object.x")]),
            vec![format!(
                "{place}.jsonPatch.expression: Invalid value: \"[object.x\": compilation failed: ERROR: <input>:1:10: \
            Syntax error: mismatched input '<EOF>' expecting ','\n | [object.x\n | .........^"
            )],
        ),
    ] {
        let problems = found(json!({"mutations": given}));
        assert_eq!(problems, wanted, "{given}");
    }
    // Variables and conditions make no patches, and conditions do not know the variables.
    let problems = found(json!({"variables": [{"name": "a", "expression": "Object{}"}],
        "matchConditions": [{"name": "b", "expression": "variables.a == 1"}]}));
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("undeclared reference to 'variables'"), "{problems:?}");
    assert!(problems[1].contains("undeclared reference to 'Object'"), "{problems:?}");
    let params = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "mutations": [apply("Object{a: params.data.a}")]});
    assert_eq!(found(params), [""; 0]);
    assert!(mutation(apply("Object{a: params.data.a}"))[0].contains("undeclared reference to 'params'"));
}

#[test]
fn requests_and_reinvocation() {
    let rule = |operations: Value| json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": ["pods"]});
    let constraints = |rules: Value| json!({"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": rules});
    let unsupported = |field: &str| {
        format!(
            "spec.{field}.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"UPDATE\""
        )
    };
    assert_eq!(
        found(json!({"matchConstraints": constraints(json!([rule(json!(["CREATE", "DELETE"]))]))})),
        [unsupported("matchConstraints")]
    );
    assert_eq!(found(json!({"matchConstraints": constraints(json!([rule(json!(["*"]))]))})), [""; 0]);
    assert_eq!(found(json!({"matchConstraints": null})), ["spec.matchConstraints: Required value"]);
    assert_eq!(
        found(json!({"matchConstraints": constraints(json!([]))})),
        ["spec.matchConstraints.resourceRules: Required value"]
    );
    assert_eq!(found(json!({"reinvocationPolicy": "IfNeeded"})), [""; 0]);
    assert_eq!(found(json!({"reinvocationPolicy": ""})), ["spec.reinvocationPolicy: Required value"]);
    assert_eq!(
        found(json!({"reinvocationPolicy": "Maybe"})),
        ["spec.reinvocationPolicy: Unsupported value: \"Maybe\": supported values: \"IfNeeded\", \"Never\""]
    );
    let bound = |spec: Value| {
        problems("mutatingadmissionpolicybindings", &json!({"metadata": {"name": "bound"}, "spec": spec}))
    };
    assert_eq!(bound(json!({"policyName": "rules"})), [""; 0]);
    assert_eq!(bound(json!({})), ["spec.policyName: Required value"]);
    assert_eq!(
        bound(
            json!({"policyName": "rules", "matchResources": constraints(json!([rule(json!(["DELETE"]))]))})
        ),
        [unsupported("matchResources")]
    );
    assert_eq!(
        bound(json!({"policyName": "rules", "paramRef": {"parameterNotFoundAction": "Deny"}})),
        ["spec.paramRef: Required value: one of name or selector must be specified"]
    );
}

/// Names like those of configurations that kube-apiserver reads from files are warned about.
#[test]
fn reserved_names() {
    for kind in [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ] {
        let warned = |name: &str| {
            let object = json!({"metadata": {"name": name}});
            kinds::warnings("admissionregistration.k8s.io", kind, &object, None)
        };
        let why = "metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based configurations \
            and cannot be managed via the API";
        assert_eq!(warned("rules.static.k8s.io"), [why], "{kind}");
        assert_eq!(warned("static.k8s.io.rules"), [""; 0], "{kind}");
    }
}
