//! Tests of `tidy::foreign`.

use tidy::foreign::{REGISTRY, is_allowed, rules, violations};

#[test]
fn expressions() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
    let rows = [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0 OR MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(GPL-3.0 OR MIT) AND Apache-2.0", true),
        ("((GPL-3.0)) OR (MIT AND (Apache-2.0))", true),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
        ("MIT WITH LLVM-exception", false),
        ("(MIT", false),
        ("MIT)", false),
        ("", false),
    ];
    for (expression, expected) in rows {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let deny = "[licenses]\nallow = [\"MIT\"]\n[[licenses.clarify]]\ncrate = \"c\"\nexpression = \"MIT\"\n[bans]\ndeny = [{ crate = \"b\" }]";
    let crate_ = |name: &str, license: &str, source: &str| serde_json::json!({"name": name, "license": license, "source": source});
    let metadata = serde_json::json!({"packages": [
        crate_("a", "GPL-3.0", REGISTRY), crate_("b", "MIT", REGISTRY), crate_("c", "", "git+https://example.org/c"),
        {"name": "own", "license": null, "source": null},
    ]});
    let found = violations(&rules(&deny.parse().expect("TOML")), &metadata);
    let expected = [
        "a: the license \"GPL-3.0\" is not allowed by deny.toml",
        "b is banned by deny.toml",
        "c comes from git+https://example.org/c, not from crates.io",
    ];
    assert_eq!(found, expected);
}
