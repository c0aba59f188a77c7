//! Tests of names and labels made from templates.

use schemas::naming::{Values, label_value, render};

#[test]
fn renders_paths() {
    let values: &Values<'_> = &[("machineSet.name", "md-abc"), ("random", "x7k2p")];
    for (template, expected) in [
        ("{{ .machineSet.name }}-{{ .random }}", Ok("md-abc-x7k2p")),
        ("{{.machineSet.name}}-{{.random}}", Ok("md-abc-x7k2p")),
        ("a {{- .random -}} b", Ok("ax7k2pb")),
        ("fixed", Ok("fixed")),
        ("{{ .other }}", Err(())),
        ("{{ .random | upper }}", Err(())),
        ("{{ .random", Err(())),
        ("{{", Err(())),
        ("", Ok("")),
        ("{{ slice .machineSet.name 0 2 }}-{{ if true }}{{ .random }}{{ end }}", Ok("md-x7k2p")),
        ("{{ printf \"%s\" .random }}", Ok("x7k2p")),
        ("{{ .machineSet.other }}", Err(())),
    ] {
        assert_eq!(render(template, values).map_err(|_| ()), expected.map(str::to_owned), "{template}");
    }
}

#[test]
fn hashes_names_that_are_no_label_values() {
    assert_eq!(label_value("short"), "short");
    let long = label_value(&"long".repeat(20));
    assert!(long.starts_with("hash_") && long.ends_with("_z") && long.len() == 13, "{long}");
}
