//! Commands that show the clusters of a server whose CustomResourceDefinitions were deleted.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;
use server::connection;

use crate::detached::{Folder, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_is_not_served_is_said_and_is_there_after_a_restart() {
    let folder = Folder::new();
    let data = folder.data("data");
    let serve = ["serve", "--detach", "--controllers", "none", "--listen", "127.0.0.1:0"];
    let (code, printed) = run(&serve, &data);
    assert_eq!(code, Some(0), "{printed}");
    let client = connection::client(&data.join("kubeconfig")).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    definitions.delete("machinepools.cluster.x-k8s.io", &DeleteParams::default()).await.unwrap();
    while definitions.get_opt("machinepools.cluster.x-k8s.io").await.unwrap().is_some() {
        tokio::task::yield_now().await;
    }
    for command in [&["status"][..], &["status", "-o", "json"], &["wait"], &["wait", "--timeout", "60s"]] {
        let (code, printed) = run(command, &data);
        assert_eq!(code, Some(1), "{command:?}: {printed}");
        let missing = "the server does not serve MachinePool (cluster.x-k8s.io/v1beta2)";
        assert!(printed.contains(missing) && printed.lines().count() == 1, "{command:?}: {printed}");
    }
    assert_eq!(run(&["stop"], &data).0, Some(0));
    assert_eq!(run(&serve, &data).0, Some(0));
    let (code, printed) = run(&["status"], &data);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(run(&["stop"], &data).0, Some(0));
}
