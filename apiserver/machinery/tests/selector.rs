//! Label selectors and field selectors.

use machinery::limits::MAX_SELECTOR_TERMS;
use machinery::selector::{FieldSelector, LabelSelector};
use serde_json::{Value, json};

#[test]
fn label_selectors_match() {
    let labels = json!({"app": "x", "tier": "front", "other": "5", "empty": ""});
    let table = [
        ("", true),
        ("app=x", true),
        ("app==x,tier=front", true),
        ("app=y", false),
        ("app!=y", true),
        ("missing!=y", true),
        ("app", true),
        ("!app", false),
        ("!missing", true),
        ("empty=", true),
        ("app=", false),
        (" app in ( x , y ) , tier ", true),
        ("app in (y)", false),
        ("empty in (,a)", true),
        ("app notin (y)", true),
        ("missing notin (y)", true),
        ("other>4", true),
        ("other>5", false),
        ("other<6", true),
        ("app>1", false),
        ("in=x", false),
        ("app in (in, notin, x)", true),
        ("golden.test/x", false),
    ];
    for (text, wanted) in table {
        let selector = LabelSelector::parse(text).unwrap();
        assert_eq!(selector.matches(labels.as_object()), wanted, "{text}");
    }
    assert!(!LabelSelector::parse("app").unwrap().matches(None));
    assert!(LabelSelector::parse("!app").unwrap().matches(None));
}

#[test]
fn label_selectors_are_refused() {
    let table = [
        ("app=>x", "unable to parse requirement: found '>', expected: identifier"),
        ("app=x y", "found 'y', expected: ',' or 'end of string'"),
        ("app=x,,tier", "found ',', expected: identifier after ','"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("app x", "unable to parse requirement: found 'x', expected: in, notin, =, ==, !=, gt, lt"),
        ("app in x", "unable to parse requirement: found 'x' expected: '('"),
        ("app in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        (
            "app>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "A/b/c",
            "unable to parse requirement: <nil>: Invalid value: \"A/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        ),
    ];
    for (text, wanted) in table {
        assert_eq!(LabelSelector::parse(text).unwrap_err(), wanted, "{text}");
    }
    let error = LabelSelector::parse("-/x=1").unwrap_err();
    assert!(
        error.starts_with(
            "unable to parse requirement: <nil>: Invalid value: \"-/x\": prefix part a lowercase RFC 1123 subdomain"
        ),
        "{error}"
    );
}

#[test]
fn label_selector_objects() {
    let labels = json!({"app": "x", "tier": "front"});
    let table = [
        (json!({}), true),
        (json!({"matchLabels": {"app": "x"}}), true),
        (json!({"matchLabels": {"app": "x", "tier": "back"}}), false),
        (json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}), true),
        (json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}), false),
        (json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}), true),
        (json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}), false),
    ];
    for (selector, wanted) in table {
        let parsed = LabelSelector::from_object(&selector).unwrap();
        assert_eq!(parsed.matches(labels.as_object()), wanted, "{selector}");
    }
    let wrong = json!({"matchExpressions": [{"key": "app", "operator": "Near"}]});
    assert!(LabelSelector::from_object(&wrong).is_err());
}

#[test]
fn field_selectors() {
    let object = json!({"metadata": {"name": "a", "namespace": "n"}, "odd": "x,y=z"});
    let value = |path: &str| {
        let found = path.split('.').try_fold(&object, |value: &Value, key| value.get(key));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let table = [
        ("", true),
        ("metadata.name=a", true),
        ("metadata.name==a,metadata.namespace=n", true),
        ("metadata.name!=a", false),
        ("metadata.name!=b", true),
        ("missing=", true),
        (r"odd=x\,y\=z", true),
    ];
    for (text, wanted) in table {
        assert_eq!(FieldSelector::parse(text).unwrap().matches(value), wanted, "{text}");
    }
    let refused = [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
    ];
    for (text, wanted) in refused {
        assert_eq!(FieldSelector::parse(text).unwrap_err(), wanted, "{text}");
    }
    let selector = FieldSelector::parse("spec.size=1").unwrap();
    let error = selector.check(|field| field == "metadata.name").unwrap_err();
    assert_eq!(error, "field label not supported: spec.size");
}

#[test]
fn terms_are_limited() {
    let labels = |count: usize| (0..count).map(|number| format!("!a{number}")).collect::<Vec<_>>().join(",");
    let fields =
        |count: usize| (0..count).map(|number| format!("a{number}!=b")).collect::<Vec<_>>().join(",");
    for (count, taken) in
        [(MAX_SELECTOR_TERMS - 1, true), (MAX_SELECTOR_TERMS, true), (MAX_SELECTOR_TERMS + 1, false)]
    {
        assert_eq!(LabelSelector::parse(&labels(count)).is_ok(), taken, "{count}");
        assert_eq!(FieldSelector::parse(&fields(count)).is_ok(), taken, "{count}");
        let expression = json!({"key": "a", "operator": "Exists"});
        let selector = json!({"matchExpressions": vec![expression; count]});
        assert_eq!(LabelSelector::from_object(&selector).is_ok(), taken, "{count}");
    }
}
