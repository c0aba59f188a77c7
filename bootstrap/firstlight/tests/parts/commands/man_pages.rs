//! Tests of `firstlight::commands::man_pages`.

#[test]
fn each_command_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    firstlight::commands::man_pages::run(folder.path()).unwrap();
    for (name, expected) in [
        ("firstlight.1", "firstlight"),
        ("firstlight-up.1", "filename"),
        ("firstlight-metal-hosts.1", "hosts"),
    ] {
        let page = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page.starts_with(".") && page.contains(expected), "{name}");
    }
}
