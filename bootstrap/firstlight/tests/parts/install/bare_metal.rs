//! Tests of `firstlight::install::bare_metal`.

use std::path::{Path, PathBuf};

use firstlight::install::bare_metal::{Installation, in_pod};
use firstlight::install::manifests::{carried_over, owned};
use pki::Identity;
use serde_json::{Value, json};
use server::controllers::selection::Selection;
use server::data_directory::{DataDirectory, write_private};
use server::netboot::options::NetbootOptions;
use server::netboot::record::BareMetal;

fn services(address: Option<&str>, bundles: &[&str]) -> NetbootOptions {
    NetbootOptions {
        interfaces: vec!["eth1".into()],
        address: address.map(|text| text.parse().unwrap()),
        bundles: bundles.iter().map(PathBuf::from).collect(),
        images: Some("/srv/images".into()),
        https_port: 8443,
        ..NetbootOptions::default()
    }
}

#[test]
fn what_cannot_move_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(folder.path())).unwrap();
    directory.create().unwrap();
    let installation = |options: &NetbootOptions| {
        let installation = Installation::of(&BareMetal::of(options).unwrap(), &directory);
        installation.err().map_or(String::new(), |error| format!("{error:#}"))
    };
    assert!(BareMetal::of(&NetbootOptions::default()).is_none());
    assert!(installation(&services(None, &["a.bundle"])).contains("--netboot-address"));
    assert!(installation(&services(Some("10.0.0.1/24"), &[])).contains("firstlight bundle create"));
    let whole = services(Some("10.0.0.1/24"), &["a.bundle"]);
    assert!(installation(&whole).contains("netboot-ca.key is missing"));
    for end in ["crt", "key"] {
        write_private(&directory.pki().join(format!("netboot-ca.{end}")), end.as_bytes()).unwrap();
    }
    assert_eq!(installation(&whole), "");
    let twins = services(Some("10.0.0.1/24"), &["a/site.bundle", "b/site.bundle"]);
    assert!(installation(&twins).contains("same file name"));
    let left = BareMetal::of(&whole).unwrap().left_behind();
    assert_eq!(left, ["the images in /srv/images, which no bundle has"]);
}

#[test]
fn the_pod_has_the_network_of_its_node_and_no_more_privileges_than_it_needs() {
    let authority = Identity { certificate: "certificate".into(), key: "private key".into() };
    let installation = Installation {
        arguments: vec!["--netboot-address=10.0.0.1/24".into()],
        server: "https://10.0.0.1:8443".into(),
        bundles: vec![in_pod(Path::new("/srv/My Site_1.bundle")).unwrap()],
        authority,
        left_behind: Vec::new(),
    };
    let objects = owned("image:v1", &carried_over(Selection::all(), true), Some(&installation)).unwrap();
    assert_eq!(objects[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged");
    assert_eq!(objects[1]["stringData"]["netboot-ca.key"], "private key");
    assert!(objects[2..].iter().all(|object| !object.to_string().contains("private key")));
    let pod = &objects.last().unwrap()["spec"]["template"]["spec"];
    let controllers = &pod["containers"][0];
    let arguments: Vec<&str> =
        controllers["args"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert!(arguments.contains(&"--bundle=/var/lib/firstlight/bundles/My Site_1.bundle"), "{arguments:?}");
    assert!(
        arguments.contains(
            &"--controllers=core,kubeadm-bootstrap,kubeadm-control-plane,addons,ipam,simulated,metal"
        ),
        "{arguments:?}"
    );
    assert!(arguments.contains(&"--diagnostics-address=:9441"), "{arguments:?}");
    assert_eq!(pod["initContainers"][0]["name"], "fetch-my-site-1");
    assert_eq!(controllers["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(pod["initContainers"][0]["securityContext"]["capabilities"]["add"], Value::Null);
    assert_eq!(pod["hostNetwork"], true);
}
