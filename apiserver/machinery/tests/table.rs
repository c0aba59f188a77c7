//! Cells and ages of tables.

use chrono::{DateTime, Duration, Utc};
use machinery::limits::MAX_PATH_VALUES;
use machinery::table::{Column, Path, human_duration};
use serde_json::{Value, json};

fn now() -> DateTime<Utc> {
    DateTime::parse_from_rfc3339("2026-01-01T00:00:00Z").unwrap().with_timezone(&Utc)
}

#[test]
fn cells() {
    let object = json!({
        "metadata": {"labels": {"app": "la", "app.kubernetes.io/name": "ln"}},
        "spec": {"s": "str", "i": 5, "n": 1.5, "b": true, "d": "2025-12-31T23:58:00Z", "list": ["x", "y", "z"],
            "map": {"j": "jv"}, "objs": [{"name": "n1"}, {"name": "n2"}], "null": null},
        "status": {"conditions": [{"type": "Other", "status": "False", "weight": 1}, {"type": "Ready", "status": "True",
            "weight": 9}]},
    });
    let table = [
        ("string", ".spec.s", json!("str")),
        ("integer", ".spec.i", json!(5)),
        ("integer", ".spec.n", json!(1)),
        ("number", ".spec.n", json!(1.5)),
        ("boolean", ".spec.b", json!(true)),
        ("string", ".spec.i", json!("5")),
        ("string", ".spec.b", json!("true")),
        ("string", ".spec.n", json!("1.5")),
        ("integer", ".spec.s", Value::Null),
        ("boolean", ".spec.s", Value::Null),
        ("string", ".spec.null", json!("<no value>")),
        ("string", ".spec.missing.deep", Value::Null),
        ("date", ".spec.d", json!("2m")),
        ("date", ".spec.s", json!("<invalid>")),
        ("string", ".spec.list", json!("[\"x\",\"y\",\"z\"]")),
        ("string", ".spec.map", json!("{\"j\":\"jv\"}")),
        ("string", ".spec.list[0]", json!("x")),
        ("string", ".spec.list[-1]", json!("z")),
        ("string", ".spec.list[-1:]", json!("z")),
        ("string", ".spec.list[1:2]", json!("y")),
        ("string", ".spec.list[7]", Value::Null),
        ("string", ".spec.objs[*].name", json!("n1")),
        ("string", ".metadata.labels.app", json!("la")),
        ("string", ".metadata.labels.app\\.kubernetes\\.io/name", json!("ln")),
        ("string", ".metadata.labels['app\\.kubernetes\\.io/name']", json!("ln")),
        // Without escapes the path has three fields.
        ("string", ".metadata.labels['app.kubernetes.io/name']", Value::Null),
        ("string", ".status.conditions[?(@.type==\"Ready\")].status", json!("True")),
        ("string", ".status.conditions[?(@.type=='Ready')].status", json!("True")),
        ("string", ".status.conditions[?(@.type!=\"Ready\")].status", json!("False")),
        ("string", ".status.conditions[?(@.weight>5)].type", json!("Ready")),
        ("string", ".status.conditions[?(@.weight<=1)].type", json!("Other")),
        ("string", ".status.conditions[?(@.none)].type", Value::Null),
    ];
    for (kind, path, wanted) in table {
        assert_eq!(Column::new(kind, path).unwrap().cell(&object, now()), wanted, "{kind} {path}");
    }
    for path in [".a[", ".a[x]", ".a.", ".a[0:1:0]", ".a[?(@.b==)]"] {
        assert!(Column::new("string", path).is_err(), "{path}");
    }
}

#[test]
fn ages() {
    let (minute, hour, day) = (60, 3600, 86_400);
    let table = [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * minute, "2m"),
        (2 * minute + 30, "2m30s"),
        (10 * minute + 30, "10m"),
        (179 * minute, "179m"),
        (3 * hour, "3h"),
        (7 * hour + 5 * minute, "7h5m"),
        (8 * hour + 5 * minute, "8h"),
        (47 * hour, "47h"),
        (2 * day, "2d"),
        (7 * day + 5 * hour, "7d5h"),
        (8 * day + 5 * hour, "8d"),
        (729 * day, "729d"),
        (730 * day, "2y"),
        (800 * day, "2y70d"),
        (10 * 365 * day, "10y"),
    ];
    for (seconds, wanted) in table {
        assert_eq!(human_duration(Duration::seconds(seconds)), wanted, "{seconds} s");
    }
}

#[test]
fn values_below_and_unions() {
    let object =
        json!({"a": {"name": "n", "b": [{"name": "m"}, {"c": {"name": "o"}}]}, "list": ["x", "y", "z"]});
    let shown = |path: &str| -> Vec<Value> {
        Path::parse(path).unwrap().find(&object).into_iter().cloned().collect()
    };
    assert_eq!(shown("..name"), ["n", "m", "o"]);
    assert_eq!(shown(".a.b..name"), ["m", "o"]);
    assert_eq!(shown(".list[2,0]"), ["z", "x"]);
    assert_eq!(shown(".list[0,9]"), ["x"]);
}

#[test]
fn as_many_values_as_are_allowed() {
    for count in [MAX_PATH_VALUES - 1, MAX_PATH_VALUES, MAX_PATH_VALUES + 1] {
        let object = json!({"items": vec![json!({"a": 1}); count]});
        let found = Path::parse(".items[*].a").unwrap().find(&object).len();
        assert_eq!(found, count.min(MAX_PATH_VALUES));
        assert!(Path::parse("........a").unwrap().find(&object).len() <= MAX_PATH_VALUES);
    }
}
