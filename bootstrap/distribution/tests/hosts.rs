//! Tests of `distribution::hosts`.

use std::path::PathBuf;

use distribution::Hosts;

fn bases(hosts: &Hosts, registry: &str) -> Vec<String> {
    hosts.endpoints(registry).unwrap().into_iter().map(|endpoint| endpoint.base).collect()
}

#[test]
fn mirrors_come_first_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("hosts.toml"), text).unwrap();
    };
    write(
        "docker.io",
        "server = \"https://registry-1.docker.io\"\n[host.\"https://second.example\"]\n[host.\"http://first.example:5000/mirror\"]\n\
         capabilities = [\"pull\"]\nca = \"ca.crt\"\n[host.\"https://exact.example/v2/hub\"]\noverride_path = true\n",
    );
    write("registry.example_5000_", "ca = [\"/a.crt\", \"/b.crt\"]\n");
    write("unsafe.example", "[host.\"https://a\"]\nskip_verify = true\n");
    let hosts = Hosts::new(Some(folder.path().to_owned()));
    assert_eq!(
        bases(&hosts, "docker.io"),
        [
            "https://second.example/v2",
            "http://first.example:5000/mirror/v2",
            "https://exact.example/v2/hub",
            "https://registry-1.docker.io/v2"
        ]
    );
    let found = hosts.endpoints("docker.io").unwrap();
    let mirror = &found[1];
    assert!(mirror.pulls && !mirror.resolves && mirror.mirrors.as_deref() == Some("docker.io"));
    assert_eq!(mirror.authorities, [folder.path().join("docker.io/ca.crt")]);
    let own = hosts.endpoints("registry.example:5000").unwrap();
    assert_eq!(own[0].authorities, [PathBuf::from("/a.crt"), PathBuf::from("/b.crt")]);
    let error = format!("{:#}", hosts.endpoints("unsafe.example").unwrap_err());
    assert!(error.contains("unsafe.example/hosts.toml: ") && error.contains("skip_verify"), "{error}");
}

#[test]
fn registries_of_this_machine_have_no_tls() {
    let hosts = Hosts::default();
    for (registry, expected) in [
        ("docker.io", "https://registry-1.docker.io/v2"),
        ("registry.k8s.io", "https://registry.k8s.io/v2"),
        ("localhost:5000", "http://localhost:5000/v2"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000/v2"),
        ("localhost.example", "https://localhost.example/v2"),
    ] {
        assert_eq!(bases(&hosts, registry), [expected]);
    }
}
