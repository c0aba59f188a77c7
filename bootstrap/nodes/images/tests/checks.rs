//! Images that are none of a node are refused by name, with everything that is missing.

use std::path::PathBuf;

use serde_json::{Value, json};
use system_containers::Image;

use super::fixture::{Files, Machine, config, layer, layout, node};

const NAME: &str = "docker.io/kindest/node:v1.36.3";

/// A change of a good image, and what the error says.
type Case = (fn(&mut Files), fn(&mut Value), &'static [&'static str]);

#[tokio::test]
async fn what_is_missing_is_named() {
    let keep_files = |_: &mut Files| ();
    let keep = |_: &mut Value| ();
    let cases: Vec<Case> = vec![
        (|files| drop(files.remove("usr/bin/kubeadm")), keep, &["no kubeadm", "firstlight image node"]),
        (
            |files| {
                files.remove("usr/bin/kubelet");
                files.remove("usr/local/bin/containerd");
                files.remove("usr/local/bin/ctr");
            },
            keep,
            &["no kubelet, no containerd, no ctr"],
        ),
        (|files| drop(files.remove("usr/local/bin/crictl")), keep, &["no crictl"]),
        (|files| drop(files.insert("usr/bin/kubelet", (0o644, b"x".to_vec()))), keep, &["no kubelet"]),
        (
            |files| drop(files.remove("usr/local/bin/entrypoint")),
            keep,
            &["no init", "/usr/local/bin/entrypoint"],
        ),
        (|files| drop(files.remove("usr/sbin/init")), keep, &["no init", "/sbin/init"]),
        (
            |files| drop(files.remove("usr/sbin/init")),
            |config| config["config"] = json!({}),
            &["no init", "/sbin/init"],
        ),
        (
            |files| {
                let mut program = b"\x7fELF\x02\x01\x01".to_vec();
                program.resize(64, 0);
                program[18] = 22;
                files.insert("usr/bin/kubelet", (0o755, program));
            },
            keep,
            &["/usr/bin/kubelet is for the architecture s390x"],
        ),
        (keep_files, |config| config["architecture"] = json!("s390x"), &["linux/s390x"]),
        (keep_files, |config| config["config"]["User"] = json!("1000"), &["as the user \"1000\""]),
    ];
    for (change_files, change_config, expected) in cases {
        let machine = Machine::new();
        let mut files = node();
        change_files(&mut files);
        let layer = layer(&files);
        let mut config = config(&layer);
        change_config(&mut config);
        layout(&machine.local().join("node"), NAME, &config, &layer);
        let error = machine.find("kindest/node:v1.36.3").await.unwrap_err();
        for expected in expected.iter().chain(&["docker.io/kindest/node:v1.36.3"]) {
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}

#[tokio::test]
async fn the_config_says_how_a_node_starts() {
    let long: &[&str] = &["/usr/local/bin/entrypoint", "/sbin/init"];
    let cases: [(Value, &[&str]); 4] = [
        (json!({"Entrypoint": ["/usr/local/bin/entrypoint", "/sbin/init"]}), long),
        (json!({"Entrypoint": ["entrypoint"], "Cmd": ["/sbin/init"]}), long),
        (json!({"Entrypoint": ["/sbin/init"]}), &["/sbin/init"]),
        (json!({}), &["/sbin/init"]),
    ];
    for (process, expected) in cases {
        let machine = Machine::new();
        let layer = layer(&node());
        let mut config = config(&layer);
        config["config"] = process;
        config["config"]["Env"] = json!(["container=docker", "A=b=c"]);
        layout(&machine.local().join("node"), NAME, &config, &layer);
        let image = machine.find(NAME).await.unwrap();
        assert_eq!(image.command, expected);
        assert_eq!(image.environment["A"], "b=c");
        assert!(PathBuf::from(image.id).join("kind/version").exists());
    }
}

#[test]
fn the_version_of_kubernetes_is_that_of_the_image() {
    let image =
        |kubernetes: Option<&str>| Image { kubernetes: kubernetes.map(str::to_owned), ..Image::default() };
    assert!(image(Some("v1.36.3")).check_kubernetes("node", "1.36.3").is_ok());
    assert!(image(None).check_kubernetes("node", "v1.36.3").is_ok());
    let error = image(Some("v1.36.3")).check_kubernetes("node", "v1.37.0").unwrap_err().to_string();
    assert!(error.contains("node is made for Kubernetes v1.36.3, and v1.37.0 is wanted"), "{error}");
}
