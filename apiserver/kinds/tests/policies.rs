//! Which ValidatingAdmissionPolicies and match conditions are refused, and why.

use serde_json::{Value, json};

fn problems(plural: &str, object: &Value) -> Vec<String> {
    let definition = kinds::definitions().iter().find(|one| one.plural == plural).unwrap();
    let errors = kinds::strategy(definition).validate(object);
    errors.into_iter().map(|error| format!("{}: {}", error.field, error.detail)).collect()
}

fn policy(spec: Value) -> Value {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let mut policy = json!({"metadata": {"name": "rules"}, "spec": {
        "failurePolicy": "Fail", "matchConstraints": {"matchPolicy": "Equivalent", "namespaceSelector": {},
            "objectSelector": {}, "resourceRules": [rule]}}});
    for (key, value) in spec.as_object().unwrap() {
        policy["spec"][key] = value.clone();
    }
    policy
}

fn found(spec: Value) -> Vec<String> {
    problems("validatingadmissionpolicies", &policy(spec))
}

#[test]
fn expressions_know_their_variables() {
    let spec = |text: &str| json!({"validations": [{"expression": "true", "messageExpression": text}]});
    for text in ["namespaceObject.metadata.labels['team']", "namespaceObject.status.phase", "request.name"] {
        assert_eq!(found(spec(text)), [""; 0], "{text}");
    }
    for (text, why) in [
        ("object.metadata.name", "must evaluate to string but got dyn"),
        ("namespaceObject.metadata.nope", "undefined field 'nope'"),
        ("variables.name", "undeclared reference to 'variables'"),
        ("params.name", "undeclared reference to 'params'"),
        // Messages cannot ask.
        ("authorizer.path('/').check('get').reason()", "undeclared reference to 'authorizer'"),
    ] {
        let problems = found(spec(text));
        assert!(matches!(&problems[..], [one] if one.contains(why)), "{text}: {problems:?}");
    }
    let asking = "authorizer.requestResource.check('x').allowed() && request.options.dryRun.size() == 0";
    let spec = json!({"matchConditions": [{"name": "a", "expression": asking}],
        "variables": [{"name": "count", "expression": "1"}, {"name": "more", "expression": "variables.count + 1"}],
        "validations": [{"expression": asking}, {"expression": "variables.more == 2"}]});
    assert_eq!(found(spec), [""; 0]);
    let problems = found(
        json!({"variables": [{"name": "b", "expression": "variables.a"}, {"name": "a", "expression": "1"}],
        "validations": [{"expression": "variables.a"}, {"expression": "variables.b == 1"}]}),
    );
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("spec.variables[0].expression: compilation failed"), "{problems:?}");
    assert_eq!(problems[1], "spec.validations[0].expression: must evaluate to bool but got int");
}

#[test]
fn names_of_variables() {
    let found = |name: &str| {
        found(
            json!({"variables": [{"name": name, "expression": "1"}], "validations": [{"expression": "true"}]}),
        )
    };
    assert_eq!(found("team_1"), [""; 0]);
    for name in ["namespace", "package", "in", "true", "a-b", "1a", "é"] {
        assert_eq!(found(name), ["spec.variables[0].name: must be a valid CEL identifier"], "{name}");
    }
    assert_eq!(found(" "), ["spec.variables[0].name: name is not specified"]);
}

#[test]
fn answers_and_annotations() {
    let validation = |more: Value| {
        let mut validation = json!({"expression": "true"});
        for (key, value) in more.as_object().unwrap() {
            validation[key] = value.clone();
        }
        found(json!({"validations": [validation]}))
    };
    assert_eq!(validation(json!({"reason": "Forbidden", "expression": "true\n&& true"})), [""; 0]);
    assert_eq!(validation(json!({"reason": "Unauthorized"})).len(), 1);
    assert_eq!(
        validation(json!({"message": "a\rb"})),
        ["spec.validations[0].message: must not contain line breaks"]
    );
    let audit = |keys: &[&str]| {
        let audits: Vec<Value> =
            keys.iter().map(|key| json!({"key": key, "valueExpression": "'x'"})).collect();
        found(json!({"auditAnnotations": audits}))
    };
    assert_eq!(audit(&["a", "b"]), [""; 0]);
    assert_eq!(audit(&["a", "a"]), ["spec.auditAnnotations[1].key: "]);
    assert!(audit(&["a b"])[0].starts_with("spec.auditAnnotations[0].key: name part must consist of"));
    let many: Vec<String> = (0..21).map(|number| format!("k{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(audit(&many), ["spec.auditAnnotations: must not have more than 20 auditAnnotations"]);
    let long = json!([{"key": "a", "valueExpression": format!("'{}'", "x".repeat(5 * 1024))}]);
    let why = "spec.auditAnnotations[0].valueExpression: must not exceed 5120 bytes in length";
    assert_eq!(found(json!({"auditAnnotations": long})), [why]);
}

#[test]
fn kinds_of_parameters() {
    let found = |api_version: &str, kind: &str| {
        found(json!({"paramKind": {"apiVersion": api_version, "kind": kind},
            "validations": [{"expression": "params.data.size() > 0"}]}))
    };
    assert_eq!(found("v1", "ConfigMap"), [""; 0]);
    assert_eq!(found("rules.example.com/v1beta1", "Limit"), [""; 0]);
    assert_eq!(found("", ""), ["spec.paramKind.apiVersion: ", "spec.paramKind.kind: "]);
    assert_eq!(found("a/b/c", "X"), ["spec.paramKind.apiVersion: unexpected GroupVersion string: a/b/c"]);
    assert_eq!(found("a.example.com/", "X"), ["spec.paramKind.apiVersion: version must be specified"]);
    assert!(found("A_B/v1", "X")[0].contains("a lowercase RFC 1123 subdomain must consist of"));
    assert!(found("v_1", "X")[0].contains("a DNS-1035 label must consist of"));
    assert!(
        found("v1", "a b")[0]
            .starts_with("spec.paramKind.kind: may have mixed case, but should otherwise match: ")
    );
}

#[test]
fn bindings() {
    let found = |reference: Value| {
        let spec = json!({"policyName": "rules", "validationActions": ["Deny"], "paramRef": reference});
        problems("validatingadmissionpolicybindings", &json!({"metadata": {"name": "bound"}, "spec": spec}))
    };
    let both = "name and selector are mutually exclusive";
    assert_eq!(found(json!({"name": "a", "parameterNotFoundAction": "Deny"})), [""; 0]);
    assert_eq!(
        found(json!({"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"})),
        [format!("spec.paramRef.name: {both}"), format!("spec.paramRef.selector: {both}")]
    );
    assert_eq!(
        found(json!({"name": "a/b", "parameterNotFoundAction": "Allow"})),
        ["spec.paramRef.name: may not contain '/'"]
    );
}

/// Match conditions of webhooks can ask what the user may do.
#[test]
fn conditions_of_webhooks() {
    let found = |expression: &str| {
        let webhook = json!({"name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/x"},
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "matchConditions": [{"name": "x", "expression": expression}]});
        problems(
            "validatingwebhookconfigurations",
            &json!({"metadata": {"name": "a"}, "webhooks": [webhook]}),
        )
    };
    assert_eq!(found("!authorizer.group('').resource('pods').check('create').allowed()"), [""; 0]);
    assert_eq!(found("request.options.fieldManager != 'x' && namespaceObject == null"), [""; 0]);
    assert_eq!(found("variables.a == 1").len(), 1);
}
