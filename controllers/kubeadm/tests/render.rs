//! Renders bootstrap data for the cases in `data/render` and compares it with the files beside them.
//! `UPDATE=1` rewrites those files.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubeadm::certificates::{Certificates, Purpose};
use kubeadm::config::render::{self, Inputs, Role};
use pki::Identity;
use schemas::bootstrap::KubeadmConfigSpec;
use schemas::cluster::Cluster;
use schemas::version::Version;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    role: String,
    version: String,
    #[serde(default)]
    control_plane_version: Option<String>,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    spec: KubeadmConfigSpec,
}

pub fn data() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../kubeadm")).join("tests/data")
}

fn cluster() -> Cluster {
    serde_json::from_value(serde_json::json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "blue", "namespace": "default"},
        "spec": {
            "controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443},
            "clusterNetwork": {
                "pods": {"cidrBlocks": ["192.168.0.0/16", "fd00::/48"]},
                "services": {"cidrBlocks": ["10.128.0.0/12"]},
                "serviceDomain": "cluster.local",
            },
        },
    }))
    .unwrap()
}

fn certificates(external: bool) -> Certificates {
    let identity = |name: &str| Identity {
        certificate: format!("-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n"),
        key: format!("-----BEGIN PRIVATE KEY-----\n{name}\n-----END PRIVATE KEY-----\n"),
    };
    let authority = std::fs::read_to_string(data().join("ca.crt")).unwrap();
    let mut all: Certificates = [
        (Purpose::ClusterAuthority, Identity { certificate: authority, ..identity("ca") }),
        (Purpose::EtcdAuthority, identity("etcd")),
        (Purpose::FrontProxyAuthority, identity("proxy")),
        (Purpose::ServiceAccount, identity("sa")),
    ]
    .into();
    if external {
        all.insert(Purpose::EtcdClient, identity("client"));
    }
    all
}

pub fn rendered(case: Case, external: bool) -> Result<String, kubeadm::Error> {
    let (cluster, certificates) = (cluster(), certificates(external));
    let version = Version::parse(&case.version).unwrap();
    let role = match case.role.as_str() {
        "init" => Role::Init,
        "join-control-plane" => Role::JoinControlPlane,
        _ => Role::JoinWorker,
    };
    let mut spec = case.spec;
    match role {
        Role::Init => render::complete_init(&mut spec, &cluster)?,
        _ => render::complete_join(&mut spec, role, &cluster, &certificates, case.token.as_deref())?,
    }
    let secrets = case.secrets.into_iter().map(|(name, value)| {
        let (name, key) = name.split_once('/').map(|(name, key)| (name.to_owned(), key.to_owned())).unwrap();
        ((name, key), value.into_bytes())
    });
    let secrets = secrets.collect();
    let inputs = Inputs {
        spec: &spec,
        cluster: &cluster,
        version: &version,
        control_plane_version: case.control_plane_version.as_deref(),
        certificates: &certificates,
        secrets: &secrets,
    };
    render::render(&inputs, role)
}

fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data().join("render")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    all.sort();
    assert!(!all.is_empty());
    all
}

fn read(path: &Path) -> Case {
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap())
        .unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

#[test]
fn bootstrap_data_are_as_recorded() {
    for path in cases() {
        let external = path.ends_with("external-etcd.yaml");
        let text = rendered(read(&path), external).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let recorded = path.with_extension("cloud-config");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&recorded, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&recorded).unwrap(), "{path:?}");
        // Reading the document with another YAML reader is part of the next test.
        let _: serde_json::Value =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    }
}

/// Checks the documents with `cloud-init schema` of the installed cloud-init, if there is one. `cloud-init
/// schema` renders no templates, so the template header is removed; the placeholders are plain strings in
/// YAML.
#[test]
fn cloud_init_accepts_bootstrap_data() {
    let program = std::env::var("CLOUD_INIT").unwrap_or_else(|_| "cloud-init".to_owned());
    let directory = tempfile::tempdir().unwrap();
    for path in cases() {
        let text = std::fs::read_to_string(path.with_extension("cloud-config")).unwrap();
        let file = directory.path().join(path.file_stem().unwrap());
        std::fs::write(&file, text.strip_prefix("## template: jinja\n").unwrap()).unwrap();
        let Ok(output) = Command::new(&program).args(["schema", "-c"]).arg(&file).output() else {
            assert!(std::env::var_os("CI").is_none(), "{program} is not installed");
            println!("skipped: {program} is not installed");
            return;
        };
        let told =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{path:?}: {told}");
        assert!(!told.to_lowercase().contains("deprecated"), "{path:?}: {told}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let case = |spec: serde_json::Value, role: &str, version: &str| Case {
        role: role.to_owned(),
        version: version.to_owned(),
        control_plane_version: None,
        token: None,
        secrets: BTreeMap::new(),
        spec: serde_json::from_value(spec).unwrap(),
    };
    let table = [
        (
            case(serde_json::json!({"format": "butane"}), "init", "v1.36.0"),
            "spec.format butane is not known: it must be cloud-config or ignition",
        ),
        (
            case(serde_json::json!({}), "init", "v1.21.0"),
            "Kubernetes v1.21.0 is not supported: kubeadm's v1beta3 configuration needs v1.22.0 or later",
        ),
        (
            case(serde_json::json!({"joinConfiguration": {"controlPlane": {}}}), "join-worker", "v1.36.0"),
            "spec.joinConfiguration.controlPlane is set, but the Machine is a worker: remove it",
        ),
        (
            case(
                serde_json::json!({"files": [{"path": "/a", "contentFrom": {"secret": {"name": "s", "key": "k"}}}]}),
                "join-worker",
                "v1.36.0",
            ),
            "Secret s does not exist or has no key k",
        ),
        (
            case(
                serde_json::json!({"files": [{"path": "/a", "contentFormat": "Template", "content": "{{ .x | upper }}"}]}),
                "init",
                "v1.36.0",
            ),
            "file /a: the template cannot be parsed: line 1: there is no function \"upper\"",
        ),
    ];
    for (case, expected) in table {
        assert_eq!(rendered(case, false).unwrap_err().to_string(), expected);
    }
}
