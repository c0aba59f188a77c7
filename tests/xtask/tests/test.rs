//! Tests of `xtask::test`.

use serde_json::{Value, json};
use xtask::test::{Tests, tests_of};

/// A workspace in `root` with a floor whose program has a module for `metal/bmc`.
fn workspace(root: &std::path::Path) -> Value {
    let floor = root.join("controllers/tests");
    std::fs::create_dir_all(&floor).unwrap();
    let main = "#[path = \"../metal/bmc/tests/main.rs\"]\nmod metal_bmc;\n";
    std::fs::write(floor.join("main.rs"), main).unwrap();
    let package = |name: &str, folder: &str, kind: &str, test: bool, held_by: Value| {
        json!({
            "name": name,
            "manifest_path": root.join(folder).join("Cargo.toml"),
            "metadata": {"held-by": held_by},
            "targets": [{"kind": [kind], "name": folder.rsplit('/').next(), "test": test}],
        })
    };
    json!({"workspace_root": root, "packages": [
        package("firstlight-bmc", "controllers/metal/bmc", "lib", false, json!(["redfish faults::"])),
        package("firstlight-controllers-tests", "controllers/tests", "test", true, json!([])),
        package("firstlight-tidy", "tests/tidy", "lib", true, json!([])),
        package("firstlight-pivot-tests", "tests/pivot", "test", true, json!([])),
        package("firstlight-store", "apiserver/store", "lib", false, json!([])),
    ]})
}

#[test]
fn the_tests_of_a_crate_are_found_wherever_they_stand() {
    let root = tempfile::tempdir().unwrap();
    let workspace = workspace(root.path());
    let both =
        [Tests::of_program("controllers", &["metal_bmc::"]), Tests::of_program("redfish", &["faults::"])];
    for name in ["bmc", "firstlight-bmc", "metal/bmc", "controllers/metal/bmc/"] {
        let found = tests_of(&workspace, name, false).unwrap();
        assert_eq!(found, both, "{name}");
        assert_eq!(tests_of(&workspace, name, true).unwrap(), both[..1], "{name}");
    }
    let tidy = tests_of(&workspace, "tidy", false).unwrap();
    assert_eq!(tidy[0].program, ["--package", "firstlight-tidy", "--tests"]);
    assert_eq!(tests_of(&workspace, "pivot-tests", false).unwrap(), [Tests::of_program("pivot", &[])]);
    let refused = [("redfish", "no crate is called redfish"), ("store", "no test holds firstlight-store")];
    for (name, error) in refused {
        let found = tests_of(&workspace, name, false).unwrap_err().to_string();
        assert!(found.starts_with(error), "{found}");
    }
}

#[test]
fn only_tests_of_the_crate_are_chosen() {
    let listed =
        "http::store::one: test\nstore::two_refused: test\nstore::refused: test\nstore::x: benchmark\n";
    let of = |begin: &[&str], filters: &[&str]| {
        let filters: Vec<String> = filters.iter().map(|filter| (*filter).to_owned()).collect();
        Tests::of_program("apiserver", begin).choose(listed, &filters).join(" ")
    };
    assert_eq!(of(&["store::"], &[]), "store::two_refused store::refused");
    assert_eq!(of(&["store::"], &["two", "x"]), "store::two_refused");
    assert_eq!(of(&["store::"], &["store"]), "", "the name of the module is not part of it");
    assert_eq!(of(&["none::", "http::"], &["one"]), "http::store::one");
    assert_eq!(of(&[], &["store"]), "http::store::one store::two_refused store::refused");
}
