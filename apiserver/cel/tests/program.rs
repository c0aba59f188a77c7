//! Programs with named parts.

use cel::program::{Answer, Asker, Decider, Environment, Expected, Input, Program, Resource, Subject};
use serde_json::json;

#[test]
fn named_parts_fail_where_they_are_used() {
    let object = json!({"spec": {"replicas": 3}});
    let mut environment = Environment::new(&["object", "variables"]);
    let named = [
        ("many", "object.spec.replicas > 2"),
        ("missing", "object.spec.none > 2"),
        ("both", "variables.many && object.spec.replicas < 9"),
        ("wrong", "1 + 'a'"),
    ]
    .map(|(name, text)| (name.to_owned(), Program::define(name, text, &mut environment)));
    let compile = |text: &str| Program::compile(text, &environment, Expected::Any).unwrap();
    let texts = ["variables.both", "variables.missing", "variables.many ? 'a' : 'b'", "variables.wrong"];
    let programs = texts.map(compile);
    let input = Input::new(vec![("object", &object)]);
    let answers = input.evaluate(&named, &programs.iter().collect::<Vec<_>>());
    assert_eq!(answers[0], Ok(Answer::Boolean(true)));
    let why = answers[1].clone().unwrap_err();
    assert_eq!(why, "composited variable \"missing\" fails to evaluate: no such key: none");
    assert_eq!(answers[2], Ok(Answer::Text("a".into())));
    let why = answers[3].clone().unwrap_err();
    let wrong = "composited variable \"wrong\" fails to compile: compilation failed: ERROR: <input>:1:";
    assert!(why.starts_with(wrong), "{why}");
}

#[test]
fn named_parts_do_not_pile_up() {
    let object = json!({});
    let mut environment = Environment::new(&["variables"]);
    let below = |part: usize| if part == 0 { "1".to_owned() } else { format!("variables.v{}", part - 1) };
    let named: Vec<(String, Result<Program, String>)> = (0..2_000)
        .map(|part| {
            let name = format!("v{part}");
            let text = format!("{0}{1}, {1}{2}", "[".repeat(50), below(part), "]".repeat(50));
            (name.clone(), Program::define(&name, &text, &mut environment))
        })
        .collect();
    let compile = |text: &str| Program::compile(text, &environment, Expected::Any).unwrap();
    let programs = [
        compile("size(variables.v4) == 1"),
        compile("size(variables.v5) == 1"),
        compile("dyn(variables.v1999) == 1"),
    ];
    let input = Input::new(vec![("object", &object)]);
    let answers = input.evaluate(&named, &programs.iter().collect::<Vec<_>>());
    assert_eq!(answers[0], Ok(Answer::Boolean(true)));
    for answer in &answers[1..] {
        assert!(answer.as_ref().unwrap_err().contains("cost limit exceeded"), "{answer:?}");
    }
}

#[test]
fn what_does_not_compile() {
    let refused =
        |text: &str, expected| Program::compile(text, &Environment::new(&["object"]), expected).unwrap_err();
    assert!(refused("nothing.x", Expected::Boolean).contains("undeclared reference to 'nothing'"));
    assert_eq!(refused("'text'", Expected::Boolean), "must evaluate to bool but got string");
    assert_eq!(refused("object.a", Expected::Text), "must evaluate to string but got dyn");
    assert!(refused("1 +", Expected::Boolean).contains("Syntax error"));
    assert!(refused("self.x", Expected::Any).contains("undeclared reference to 'self'"));
}

/// `namespace` is reserved in CEL, and a property of a schema with this name is `__namespace__`.
#[test]
fn the_namespace_of_a_request_has_its_plain_name() {
    let request = json!({"namespace": "a", "name": "b"});
    let compile = |text: &str| Program::compile(text, &Environment::new(&["request"]), Expected::Any);
    let programs = ["request.namespace == 'a'", "has(request.namespace)"].map(|text| compile(text).unwrap());
    let input = Input::new(vec![("request", &request)]);
    let answers = input.evaluate(&[], &programs.iter().collect::<Vec<_>>());
    assert_eq!(answers, [Ok(Answer::Boolean(true)), Ok(Answer::Boolean(true))]);
    let refused = compile("request.__namespace__ == 'a'").unwrap_err();
    assert!(refused.contains("undefined field '__namespace__'"), "{refused}");
}

/// The request, the namespace and the variables have types.
#[test]
fn declared_types() {
    let mut environment = Environment::new(&["object", "request", "namespaceObject", "variables"]);
    for (name, text) in [
        ("text", "'a'"),
        ("count", "1"),
        ("any", "object.a"),
        ("texts", "['a']"),
        ("user", "request.userInfo"),
    ] {
        Program::define(name, text, &mut environment).unwrap();
    }
    assert!(Program::define("wrong", "1 + 'a'", &mut environment).is_err());
    for (text, expected) in [
        ("namespaceObject.metadata.labels['team']", Expected::Text),
        ("namespaceObject.metadata.labels.team", Expected::Text),
        ("namespaceObject.status.phase", Expected::Text),
        ("namespaceObject.status.conditions.all(c, c.type == 'a')", Expected::Boolean),
        ("request.options.fieldManager != 'x'", Expected::Boolean),
        ("request.userInfo.extra['a'][0]", Expected::Text),
        ("has(request.dryRun) && request.dryRun", Expected::Boolean),
        ("variables.text", Expected::Text),
        ("variables.texts[0]", Expected::Text),
        ("variables.user.anything == 1", Expected::Boolean),
        ("variables.wrong == 1", Expected::Boolean),
    ] {
        assert!(Program::compile(text, &environment, expected).is_ok(), "{text}");
    }
    for (text, expected, why) in [
        ("namespaceObject.metadata.nope", Expected::Any, "undefined field 'nope'"),
        ("namespaceObject.metadata.managedFields", Expected::Any, "undefined field 'managedFields'"),
        ("namespaceObject.metadata.labels.a == 1", Expected::Any, "no matching overload for '_==_'"),
        ("request.object", Expected::Any, "undefined field 'object'"),
        ("variables.nope", Expected::Any, "undefined field 'nope'"),
        ("variables.count", Expected::Boolean, "must evaluate to bool but got int"),
        ("variables.any", Expected::Text, "must evaluate to string but got dyn"),
        ("request.userInfo", Expected::Text, "must evaluate to string but got kubernetes.UserInfo"),
        ("authorizer.path('/')", Expected::Any, "undeclared reference to 'authorizer'"),
    ] {
        let refused = Program::compile(text, &environment, expected).unwrap_err();
        assert!(refused.contains(why), "{text}: {refused}");
    }
}

/// Allows `get` of everything in the namespace `a`, and ServiceAccounts to list.
struct Rules;

impl Decider for Rules {
    fn decide(&self, asker: &Asker, verb: &str, subject: &Subject) -> (bool, String) {
        let allowed = match (asker, subject) {
            (Asker::User, Subject::Path(path)) => path == "/healthz",
            (Asker::User, Subject::Resource(resource)) => verb == "get" && resource.namespace == "a",
            (Asker::ServiceAccount { name, .. }, _) => verb == "list" && name == "robot",
        };
        (allowed, "said so".to_owned())
    }

    fn request_resource(&self) -> Resource {
        Resource { resource: "pods".into(), namespace: "a".into(), ..Resource::default() }
    }
}

#[test]
fn what_users_may_do() {
    let environment = Environment::new(&["authorizer"]);
    let input = || Input::new(Vec::new()).authorizer(&Rules);
    let answer = |text: &str| {
        let program = Program::compile(text, &environment, Expected::Boolean).unwrap();
        input().evaluate(&[], &[&program]).pop().unwrap()
    };
    for (text, wanted) in [
        ("authorizer.group('').resource('pods').namespace('a').check('get').allowed()", true),
        ("authorizer.group('').resource('pods').namespace('b').check('get').allowed()", false),
        (
            "authorizer.group('apps').resource('x').subresource('scale').name('n').check('get').allowed()",
            false,
        ),
        (
            "authorizer.group('').resource('pods').labelSelector('a=b').namespace('a').check('get').allowed()",
            true,
        ),
        ("authorizer.path('/healthz').check('get').allowed()", true),
        ("authorizer.requestResource.check('get').allowed()", true),
        ("authorizer.requestResource.check('delete').reason() == 'said so'", true),
        ("authorizer.requestResource.check('get').errored()", false),
        ("authorizer.requestResource.check('get').error() == ''", true),
        ("authorizer.serviceAccount('a', 'robot').group('').resource('x').check('list').allowed()", true),
    ] {
        assert_eq!(answer(text), Ok(Answer::Boolean(wanted)), "{text}");
    }
    for (text, why) in [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        (
            "authorizer.serviceAccount('a', 'B').path('/').check('get').allowed()",
            "Invalid service account name",
        ),
        (
            "authorizer.serviceAccount('a.b', 'b').path('/').check('get').allowed()",
            "Invalid service account namespace",
        ),
    ] {
        assert_eq!(answer(text), Err(why.to_owned()), "{text}");
    }
    let one = "authorizer.path('/').check('get').allowed()";
    assert!(answer(&format!("{one} || {one}")).is_ok());
    assert!(answer(&format!("{one} || {one} || {one}")).unwrap_err().contains("cost limit exceeded"));
    for text in
        ["authorizer.check('get').allowed()", "authorizer.nope.check('x').allowed()", "authorizer == 1"]
    {
        assert!(Program::compile(text, &environment, Expected::Boolean).is_err(), "{text}");
    }
}
