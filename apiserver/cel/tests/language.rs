//! Results of CEL rules, and the errors of rules that cannot be evaluated.

use cel::Rules;
use machinery::schema::Schema;
use serde_json::{Value, json};

use crate::cel::validate;

/// Returns the errors of a rule on a value, or an empty text.
fn verdict(mut schema: Value, rule: &str, value: &Value, old: Option<&Value>) -> String {
    schema["x-kubernetes-validations"] = json!([{"rule": rule, "message": "no"}]);
    let schema = Schema::parse(&schema).unwrap();
    validate(&schema, value, old).iter().map(|error| error.body()).collect::<Vec<_>>().join("; ")
}

fn object() -> (Value, Value) {
    let schema = json!({"type": "object", "properties": {
        "text": {"type": "string"},
        "number": {"type": "integer"},
        "real": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "long": {"type": "string", "format": "duration"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "either": {"x-kubernetes-int-or-string": true},
        "empty": {"type": "object", "properties": {"inner": {"type": "string"}}},
        "x-y": {"type": "string"},
        "people": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string"}, "age": {"type": "integer"}}}},
    }});
    let value = json!({
        "text": "héllo", "number": 7, "real": 2, "when": "2024-02-29T12:30:45+02:00", "long": "1h30m",
        "list": [3, 1, 2], "set": ["a", "b"], "map": {"k": "v", "if": "w"}, "either": "50%", "x-y": "z",
        "people": [{"name": "b", "age": 2}, {"name": "a", "age": 5}],
    });
    (schema, value)
}

#[test]
fn rules_that_hold() {
    let (schema, value) = object();
    let rules = [
        // Precedence and associativity.
        "1 + 2 * 3 == 7 && 10 - 4 - 3 == 3 && -2 * -3 == 6 && !(false || false)",
        "true ? true : false ? false : false",
        "2 + 3 == 5 && 7 % 4 == 3 && 7 / 2 == 3 && -7 / 2 == -3",
        "0x10 == 16 && 1u + 2u == 3u && 1.5e2 == 150.0",
        // A side that decides takes precedence over an error.
        "self.empty.inner == 'x' || true",
        "!(self.list[9] == 1 && false)",
        // Strings.
        "self.text.size() == 5 && size('') == 0 && self.text.charAt(1) == 'é'",
        r"'a\tb\u00e9\x41\101' == 'a	béAA' && r'\d' == '\\d' && '''a'b''' == 'a\'b'",
        "'a,b,c'.split(',').join('-') == 'a-b-c' && 'abc'.substring(1) == 'bc'",
        "'%s %d %.2f %x'.format(['a', 1, 2.0, 255]) == 'a 1 2.00 ff'",
        "'abcabc'.replace('b', 'x', 1) == 'axcabc' && 'hello'.matches('^h.*o$')",
        "'tacocat'.lastIndexOf('c') == 4 && 'tacocat'.indexOf('c', 3) == 4",
        // Lists, sets and maps.
        "self.list.sum() == 6 && self.list.max() == 3 && self.list.sort() == [1, 2, 3]",
        "self.list.all(x, x > 0) && self.list.exists_one(x, x == 2) && !self.list.exists(x, x > 3)",
        "self.list.map(x, x > 1, x * 10) == [30, 20] && self.list.filter(x, x < 3) == [1, 2]",
        "self.list.all(i, x, i < 3 && x > 0) && self.list.transformList(i, x, i == 0, x) == [3]",
        "self.map.transformMap(k, v, k + v)['k'] == 'kv' && self.map.exists(k, v, v == 'w')",
        "self.set == ['b', 'a'] && self.set + ['a', 'c'] == ['a', 'b', 'c']",
        "'k' in self.map && !('z' in self.map) && self.map.k == 'v' && self.map['if'] == 'w'",
        "self.people.sortBy(p, p.age).map(p, p.name) == ['b', 'a']",
        "self.people.map(p, p.name).sort() == ['a', 'b'] && [1, 1, 2].distinct() == [1, 2]",
        "sets.contains(self.set, ['a']) && sets.equivalent([1, 2], [2, 1, 1])",
        "lists.range(3) == [0, 1, 2] && [[1], [2, 3]].flatten() == [1, 2, 3]",
        // Presence and optionals.
        "has(self.text) && !has(self.empty) && self.?empty.?inner.orValue('d') == 'd'",
        "self.list[?0].value() == 3 && !self.list[?7].hasValue() && self.?number.optMap(n, n + 1).value() == 8",
        "optional.none().or(optional.of(1)).value() == 1 && [?self.?empty.?inner].size() == 0",
        // Types according to the schema.
        "type(self.real) == double && self.real == 2.0 && type(self.either) == string",
        "self.when.getFullYear() == 2024 && self.when.getHours() == 10 && self.when.getHours('+02:00') == 12",
        "self.when < timestamp('2024-03-01T00:00:00Z') && self.long == duration('90m')",
        "self.when + self.long > self.when && self.long.getMinutes() == 90 && string(duration('1.5s')) == '1.5s'",
        "self.x__dash__y == 'z' && int('12') == 12 && string(3) == '3' && double('1.5') == 1.5 && bool('true')",
        // Kubernetes' CEL library.
        "quantity('1Gi').compareTo(quantity('1024Mi')) == 0 && quantity('1.5').add(1) == quantity('2500m')",
        "quantity('1e-10') == quantity('1n') && isQuantity('1e31') && isQuantity('Ki') && !isQuantity('')",
        "isQuantity('12345678901234567890123456789012345678') && !quantity('1.0Gi').isInteger()",
        "isQuantity('12e6') && !isQuantity('1.2.3') && quantity('50k').asInteger() == 50000",
        "semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && semver('v1.2', true).minor() == 2",
        "cidr('10.0.0.0/8').containsIP(ip('10.1.2.3')) && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "ip('fe80::1').isLinkLocalUnicast() && ip('::1').family() == 6 && !isIP('1.2.3')",
        "url('https://a.b:8443/p?q=1').getPort() == '8443' && url('https://a/p?q=1').getQuery()['q'] == ['1']",
        "!format.dns1123Label().validate('ok-1').hasValue() && format.named('uuid').hasValue()",
        "sign(quantity('-4')) == -1 && [optional.of(1), optional.none()].unwrapOpt() == [1]",
        "'ab 12 cd 3'.findAll('[0-9]+') == ['12', '3']",
    ];
    let parsed = Schema::parse(&schema).unwrap();
    for rule in rules {
        assert_eq!(verdict(schema.clone(), rule, &value, None), "", "{rule}");
        let rule = machinery::schema::Rule { rule: rule.to_owned(), ..Default::default() };
        assert_eq!(cel::problems(&parsed, &rule, false).0, [], "{}", rule.rule);
    }
}

#[test]
fn failures_have_the_words_of_the_server() {
    let (schema, value) = object();
    let cases = [
        ("self.number > 10", "Invalid value: no"),
        ("self.empty.inner == 'x'", "Invalid value: \"object\": no such key: empty evaluating rule: no"),
        ("self.map['z'] == ''", "Invalid value: \"object\": no such key: z evaluating rule: no"),
        ("self.list[3] == 1", "Invalid value: \"object\": index out of bounds: 3 evaluating rule: no"),
        ("1 / (self.number - 7) == 1", "Invalid value: \"object\": division by zero evaluating rule: no"),
        (
            "self.either > 5",
            "Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, \
             function or macro signature for rule: no",
        ),
        (
            "9223372036854775807 + self.number > 0",
            "Invalid value: \"object\": integer overflow evaluating rule: no",
        ),
    ];
    for (rule, wanted) in cases {
        assert_eq!(verdict(schema.clone(), rule, &value, None), wanted, "{rule}");
    }
}

#[test]
fn transition_rules_need_an_old_value() {
    let schema = json!({"type": "integer"});
    assert_eq!(verdict(schema.clone(), "self >= oldSelf", &json!(1), None), "");
    assert_eq!(verdict(schema.clone(), "self >= oldSelf", &json!(1), Some(&json!(1))), "");
    assert_eq!(verdict(schema, "self >= oldSelf", &json!(1), Some(&json!(2))), "Invalid value: 1: no");
}

#[test]
fn unchanged_values_are_not_reported_again() {
    let mut schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let bad = json!({"a": 1});
    assert_eq!(verdict(schema.clone(), "self.a > 5", &bad, Some(&bad)), "");
    schema["x-kubernetes-validations"] = json!([{"rule": "self.a > 5", "message": "too small"}]);
    let schema = Schema::parse(&schema).unwrap();
    let warnings = Rules::of(&schema).ratcheted(&schema, &bad, &bad);
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].to_string(), "<nil>: Invalid value: too small");
}

#[test]
fn list_items_are_correlated_by_key() {
    let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer",
            "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "shrinks"}]}}}});
    let schema = Schema::parse(&schema).unwrap();
    let old = json!([{"k": "a", "v": 5}, {"k": "b", "v": 1}]);
    let new = json!([{"k": "b", "v": 2}, {"k": "c", "v": 0}, {"k": "a", "v": 4}]);
    let errors: Vec<String> = validate(&schema, &new, Some(&old)).iter().map(ToString::to_string).collect();
    assert_eq!(errors, ["[2].v: Invalid value: 4: shrinks"]);
}

#[test]
fn nothing_makes_it_panic() {
    let (schema, value) = object();
    let deep = "(".repeat(5000);
    let sources = [
        "",
        "(",
        "self.",
        "self[",
        "1 +",
        "'abc",
        "a.b.c()",
        "has()",
        "has(1)",
        "self.all(1, 2)",
        "{1: }",
        "[,]",
        "`x",
        "b'\\x'",
        "'\\u12'",
        "9999999999999999999999",
        "-9223372036854775808 / -1 == 0",
        "'a'.charAt(-1) == ''",
        "'a'.substring(1, 0) == ''",
        "[1][9223372036854775807] == 1",
        "'a'.split('', 2) == []",
        "lists.range(-1) == []",
        "duration('9999999h') == duration('1h')",
        "timestamp('9999-12-31T23:59:59Z') + duration('1h') == self.when",
        "'%'.format([]) == ''",
        "'%s'.format([]) == ''",
        "'%.999f'.format([1.0]) == ''",
        "self.text.matches('(')",
        "quantity('1e99') == quantity('1')",
        "ip('%') == ip('%')",
        &deep,
    ];
    for source in sources {
        let _ = verdict(schema.clone(), source, &value, Some(&value));
        let _ = cel::problems(
            &Schema::parse(&schema).unwrap(),
            &machinery::schema::Rule { rule: source.to_owned(), ..Default::default() },
            true,
        );
    }
}
