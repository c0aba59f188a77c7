//! Tests of `simulation::lifecycles::order`.

use simulation::lifecycles::order::{is_like, missing};

#[test]
fn what_is_in_order() {
    let lines =
        ["Machine a-1 created", "Set s Ready=True", "Machine b-2 created", "Machine a-1 gone: b-2 stays"];
    let rows = [
        ("Machine $x created\nMachine $x gone: $y stays", None),
        ("Machine $x created\n\n  Machine $y created\n  Machine $x gone...", None),
        ("Machine $x created\nMachine $y created\nMachine $y gone...", Some("Machine $y gone...")),
        ("Set s Ready=...\nMachine a-1 created", Some("Machine a-1 created")),
        ("Machine $x created\nMachine $x created", Some("Machine $x created")),
        ("Machine $x gone: $x stays", Some("Machine $x gone: $x stays")),
        ("Machine a-1", Some("Machine a-1")),
    ];
    for (patterns, expected) in rows {
        assert_eq!(missing(patterns, lines), expected, "{patterns}");
    }
    assert!(is_like("Set ... Ready=$value", lines[1]) && !is_like("Set s", lines[1]));
}
