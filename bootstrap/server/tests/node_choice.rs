//! What runs nodes: chosen by an option, or remembered in the data directory.

use server::nodes::{Choice, NodeRuntime};

#[test]
fn an_option_names_what_runs_nodes_or_leaves_it_open() {
    for (option, expected) in [
        (NodeRuntime::Auto, None),
        (NodeRuntime::Own, Some(Choice::Own)),
        (NodeRuntime::Docker, Some(Choice::Docker)),
        (NodeRuntime::Podman, Some(Choice::Podman)),
    ] {
        assert_eq!(Choice::named(option).unwrap(), expected, "{option:?}");
    }
    assert!(Choice::named(NodeRuntime::None).is_err());
}

#[test]
fn a_data_directory_remembers_what_runs_its_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = folder.path().join("nodes");
    assert_eq!(Choice::remembered(&nodes).unwrap(), None);
    assert!(!server::nodes::are_in(folder.path()));
    for choice in Choice::ALL {
        choice.remember(&nodes).unwrap();
        choice.remember(&nodes).unwrap();
        assert_eq!(Choice::remembered(&nodes).unwrap(), Some(choice));
    }
    assert!(server::nodes::are_in(folder.path()), "whoever has chosen Podman has nodes there");
    std::fs::write(nodes.join("runtime"), "vagrant").unwrap();
    let error = format!("{:#}", Choice::remembered(&nodes).unwrap_err());
    assert!(error.contains("vagrant") && error.contains("own, docker or podman"), "{error}");
}
