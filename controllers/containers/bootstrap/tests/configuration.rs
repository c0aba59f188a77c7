//! kubeadm's configuration for nodes in containers.

use node_bootstrap::{Action, Format, Metadata, NodeOptions, parse};
use serde_json::{Value, json};

const INIT: &str = "/run/kubeadm/kubeadm.yaml";
const JOIN: &str = "/run/kubeadm/kubeadm-join-config.yaml";

fn try_adapt(path: &str, text: &str, options: NodeOptions) -> Result<String, String> {
    let data = json!({"write_files": [{"path": path, "content": text}]}).to_string();
    let bootstrap = parse(data.as_bytes(), Format::CloudConfig, &Metadata::default()).unwrap();
    let mut bootstrap = bootstrap.adapt(options).map_err(|error| error.to_string())?;
    match bootstrap.steps.remove(0).action {
        Action::WriteFile(file) => Ok(String::from_utf8(file.content).unwrap()),
        Action::Run(_) => unreachable!("the data has one file"),
    }
}

fn adapt(path: &str, text: &str, options: NodeOptions) -> Vec<Value> {
    let text = try_adapt(path, text, options).unwrap();
    let documents = machinery::decode::yaml_documents(&text).unwrap();
    documents.into_iter().map(|(_, document)| document.value).collect()
}

/// The document's flags as `name=value`.
fn flags(document: &Value) -> Vec<String> {
    match &document["nodeRegistration"]["kubeletExtraArgs"] {
        Value::Array(list) => {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            list.iter().map(|flag| format!("{}={}", text(&flag["name"]), text(&flag["value"]))).collect()
        }
        Value::Object(map) => {
            map.iter().map(|(name, value)| format!("{name}={}", value.as_str().unwrap())).collect()
        }
        other => panic!("{other}"),
    }
}

const EVICTION: &str = "eviction-hard=nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%";

#[test]
fn each_version_has_its_form() {
    for (version, is_map) in [("v1beta2", true), ("v1beta3", true), ("v1beta4", false), ("v1beta5", false)] {
        let text = format!("apiVersion: kubeadm.k8s.io/{version}\nkind: JoinConfiguration\n");
        let documents = adapt(JOIN, &text, NodeOptions::default());
        assert_eq!(documents.len(), 1, "{version}");
        let registration = &documents[0]["nodeRegistration"];
        assert_eq!(registration["criSocket"], "unix:///var/run/containerd/containerd.sock");
        assert_eq!(registration["kubeletExtraArgs"].is_object(), is_map, "{version}");
        let mut found = flags(&documents[0]);
        found.sort();
        let expected = [
            "cgroup-root=/kubelet",
            EVICTION,
            "fail-swap-on=false",
            "image-gc-high-threshold=100",
            "runtime-cgroups=/system.slice/containerd.service",
        ];
        assert_eq!(found, expected, "{version}");
    }
}

#[test]
fn what_the_user_has_set_stays() {
    let list = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\nnodeRegistration:\n  criSocket: unix:///x\n  \
                kubeletExtraArgs:\n  - name: image-gc-high-threshold\n    value: \"90\"\n  - name: cgroup-root\n    value: \
                /other\n";
    let documents = adapt(JOIN, list, NodeOptions::default());
    assert_eq!(documents[0]["nodeRegistration"]["criSocket"], "unix:///x");
    let expected = [
        "image-gc-high-threshold=90",
        "cgroup-root=/other",
        EVICTION,
        "fail-swap-on=false",
        "runtime-cgroups=/system.slice/containerd.service",
    ];
    assert_eq!(flags(&documents[0]), expected);

    let map = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n    \
               fail-swap-on: \"true\"\n";
    assert!(flags(&adapt(JOIN, map, NodeOptions::default())[0]).contains(&"fail-swap-on=true".to_owned()));

    // A flag would win over the field that says the same.
    let kubelet = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n---\napiVersion: \
                   kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard:\n  memory.available: \
                   100Mi\nfailCgroupV1: true\nfailSwapOn: null\n";
    let options = NodeOptions { own_cgroup: false, cgroup_v1: true };
    let documents = adapt(INIT, kubelet, options);
    assert_eq!(flags(&documents[0]), ["image-gc-high-threshold=100", "fail-swap-on=false"]);
}

#[test]
fn control_groups_are_options() {
    let text = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\nnodeRegistration: null\n";
    let cases = [(false, false, 3), (true, false, 5), (false, true, 4), (true, true, 6)];
    for (own_cgroup, cgroup_v1, expected) in cases {
        let flags = flags(&adapt(JOIN, text, NodeOptions { own_cgroup, cgroup_v1 })[0]);
        assert_eq!(flags.len(), expected, "{flags:?}");
        assert_eq!(flags.contains(&"fail-cgroupv1=false".to_owned()), cgroup_v1);
    }
}

fn kinds(documents: &[Value]) -> Vec<&str> {
    documents.iter().map(|document| document["kind"].as_str().unwrap()).collect()
}

#[test]
fn any_number_of_documents_is_read() {
    let cluster = "---\napiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n";
    let init = "---\napiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\n";
    let join = "---\napiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\n";
    let cases: [(&str, String, &[&str]); 5] = [
        (
            "cluster alone",
            cluster.to_owned(),
            &["ClusterConfiguration", "InitConfiguration", "KubeProxyConfiguration"],
        ),
        ("init alone", init.to_owned(), &["InitConfiguration", "KubeProxyConfiguration"]),
        (
            "both",
            format!("{cluster}{init}"),
            &["ClusterConfiguration", "InitConfiguration", "KubeProxyConfiguration"],
        ),
        (
            "other order, a comment, an empty document",
            format!("# a comment\n{init}---\n\n{cluster}---\n"),
            &["InitConfiguration", "ClusterConfiguration", "KubeProxyConfiguration"],
        ),
        ("join", join.to_owned(), &["JoinConfiguration"]),
    ];
    for (name, text, expected) in cases {
        let path = if name == "join" { JOIN } else { INIT };
        let documents = adapt(path, &text, NodeOptions::default());
        assert_eq!(kinds(&documents), expected, "{name}");
        let node = documents.iter().find(|document| document["nodeRegistration"].is_object()).unwrap();
        assert_eq!(node["apiVersion"], "kubeadm.k8s.io/v1beta3", "{name}");
        assert_eq!(flags(node).len(), 5, "{name}");
    }
}

#[test]
fn the_proxy_leaves_the_machine_alone() {
    let init = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n---\n";
    let proxy = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
    let cases = [
        (String::new(), json!({"maxPerCore": 0})),
        (proxy.to_owned(), json!({"maxPerCore": 0})),
        (format!("{proxy}mode: nftables\nconntrack:\n  min: 5\n"), json!({"min": 5, "maxPerCore": 0})),
        (format!("{proxy}conntrack:\n  maxPerCore: 7\n"), json!({"maxPerCore": 7})),
        (format!("{proxy}conntrack: null\n"), json!({"maxPerCore": 0})),
    ];
    for (text, expected) in cases {
        let documents = adapt(INIT, &format!("{init}{text}"), NodeOptions::default());
        assert_eq!(kinds(&documents), ["InitConfiguration", "KubeProxyConfiguration"], "{text}");
        assert_eq!(documents[1]["conntrack"], expected, "{text}");
        assert_eq!(documents[1].get("mode").is_some(), text.contains("mode"), "{text}");
    }
}

#[test]
fn documents_that_need_no_change_keep_their_text() {
    let cluster =
        "---\n# kept\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName:   blue\n";
    let text = format!("{cluster}---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n");
    let adapted = try_adapt(INIT, &text, NodeOptions::default()).unwrap();
    assert!(adapted.starts_with(cluster), "{adapted}");
    // A second pass finds nothing to change.
    assert_eq!(try_adapt(INIT, &adapted, NodeOptions::default()).unwrap(), adapted);
    let other = "kind: JoinConfiguration\n";
    assert_eq!(try_adapt("/etc/other.yaml", other, NodeOptions::default()).unwrap(), other);
    assert_eq!(try_adapt(JOIN, "", NodeOptions::default()).unwrap(), "");
}

#[test]
fn what_is_wrong_is_said_without_values() {
    let cases = [
        ("a: [\n", "/run/kubeadm/kubeadm.yaml: the document that begins at line 1: yaml: "),
        ("a: b\n---\n- s3cret: [\n", "/run/kubeadm/kubeadm.yaml: the document that begins at line 2: yaml: "),
        (
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n    a: \
             s3cret\n",
            "/run/kubeadm/kubeadm.yaml: InitConfiguration: nodeRegistration.kubeletExtraArgs has another form than \
             kubeadm.k8s.io/v1beta4 has",
        ),
        (
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration: s3cret\n",
            "/run/kubeadm/kubeadm.yaml: InitConfiguration: nodeRegistration is no object",
        ),
        (&"---\n".repeat(200_000), "/run/kubeadm/kubeadm.yaml: it has more than 100 documents"),
        (&"# comment\n".repeat(110_000), "/run/kubeadm/kubeadm.yaml: it is larger than 1048576 bytes"),
    ];
    for (text, expected) in cases {
        let error = try_adapt(INIT, text, NodeOptions::default()).unwrap_err();
        assert!(error.starts_with(expected) && !error.contains("s3cret"), "{error}");
    }
}
