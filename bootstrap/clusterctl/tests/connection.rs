//! The choice of a cluster.

use clusterctl::connection::Choice;

const KUBECONFIG: &str = r"
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: one, context: {cluster: c, user: u}}
- {name: two, context: {cluster: c, user: u, namespace: second}}
";

#[tokio::test]
async fn the_context_names_the_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, KUBECONFIG).unwrap();
    for (context, expected) in [(None, "default"), (Some("two"), "second")] {
        let choice = Choice { kubeconfig: Some(path.clone()), context: context.map(str::to_owned) };
        assert_eq!(choice.config().await.unwrap().default_namespace, expected);
    }
    let unknown = Choice { kubeconfig: Some(path), context: Some("three".to_owned()) };
    assert!(unknown.config().await.is_err());
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, KUBECONFIG).unwrap();
    let connection = Choice { kubeconfig: Some(path), context: None }.connect().await.unwrap();
    let error = connection.client.apiserver_version().await.unwrap_err();
    let expected = "the server of the kubeconfig does not answer: https://127.0.0.1:1: Connection refused (os error 111)";
    assert_eq!(clusterctl::cluster_message(&error), expected);
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named() {
    let choice = Choice { kubeconfig: Some("/nonexistent/kubeconfig".into()), context: None };
    let error = choice.config().await.unwrap_err().to_string();
    assert!(error.starts_with("cannot use the kubeconfig /nonexistent/kubeconfig: "), "{error}");
}
