//! `get kubeconfig` of a Secret that somebody else wrote.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::process::Command;

use crate::place::Place;

#[tokio::test(flavor = "multi_thread")]
async fn what_could_run_a_command_is_said() {
    let place = Place::start("none", &[]).await;
    let secrets: Api<Secret> = Api::namespaced(place.process.plane.client("test"), "default");
    let own = place.folder.path().join("kubeconfig");
    let usual = std::fs::read_to_string(&own).unwrap();
    let with_exec = r#"{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.1"}}],
        "users": [{"name": "u", "user": {"exec": {"command": "sh"}}}]}"#;
    for (name, kubeconfig, warning) in [
        ("usual", usual.as_str(), None),
        ("with-exec", with_exec, Some("exec of its user \"u\" is refused")),
        ("no-kubeconfig", "hello", Some("Warning: look at this kubeconfig")),
    ] {
        let secret =
            json!({"metadata": {"name": format!("{name}-kubeconfig")}, "stringData": {"value": kubeconfig}});
        secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command.args(["get", "kubeconfig", name, "--kubeconfig"]).arg(&own).env("HOME", place.folder.path());
        let output = command.output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{kubeconfig}\n"));
        match warning {
            None => assert_eq!(said, ""),
            Some(warning) => assert!(said.contains(warning) && said.lines().count() == 1, "{said}"),
        }
    }
    place.process.stop().await;
}
