//! What Pods of providers get of the proxies of the server's environment.

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{LogParams, PostParams};
use serde_json::{Value, json};
use test_server::Server;

use super::{DEADLINE, VARIABLES, program};
use crate::pods::image;

const NAMESPACE: &str = "shell-system";

/// Runs a container that prints its variables, and returns the line.
async fn printed(server: &Server, name: &str, environment: Value) -> String {
    let script = "echo \"+$HTTPS_PROXY|$HTTP_PROXY|$NO_PROXY|$https_proxy+\"; sleep 3600";
    let container = json!({"name": "shell", "image": image::NAME, "args": [script], "env": environment});
    let spec = json!({"containers": [container], "terminationGracePeriodSeconds": 1});
    let pod = json!({"metadata": {"name": name}, "spec": spec});
    let pods: Api<Pod> = Api::namespaced(server.client().await.unwrap(), NAMESPACE);
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let found = async {
        loop {
            let log = pods.logs(name, &LogParams::default()).await.unwrap_or_default();
            match log.lines().find(|line| line.starts_with('+') && line.ends_with('+')) {
                Some(line) => return line.trim_matches('+').to_owned(),
                None => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(DEADLINE, found).await.unwrap_or_else(|_| panic!("{}", server.log()))
}

#[tokio::test]
async fn pods_get_the_proxies_of_the_server_unless_they_have_their_own() {
    const PROXY: &str = "http://user:word@proxy.invalid:3128";
    let folder = tempfile::tempdir().unwrap();
    let images = image::write(folder.path(), false);
    let options =
        ["--store", "memory", "--controllers", "pods", "--container-images", images.to_str().unwrap()];
    // What the test itself has in its environment counts for nothing.
    let mut environment: Vec<(&str, &str)> = VARIABLES.iter().map(|name| (*name, "")).collect();
    environment.extend([("https_proxy", PROXY), ("no_proxy", "own.invalid")]);
    let server = Server::start_in(program(), folder.path(), &options, &environment).await.unwrap();
    let labels = json!({"cluster.x-k8s.io/provider": "infrastructure-shell"});
    let namespace = json!({"metadata": {"name": NAMESPACE, "labels": labels}});
    let namespaces: Api<Namespace> = Api::all(server.client().await.unwrap());
    namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();

    let without = "own.invalid,localhost,127.0.0.0/8,::1,198.18.0.0/15,.svc,.cluster.local,kubernetes.default,127.0.0.1";
    assert_eq!(printed(&server, "given", json!([])).await, format!("{PROXY}||{without}|"));
    let own = json!([{"name": "https_proxy", "value": "http://mine"}, {"name": "NO_PROXY", "value": ""}]);
    assert_eq!(printed(&server, "own", own).await, "|||http://mine");
    assert!(!server.log().contains("word"), "{}", server.log());
}
