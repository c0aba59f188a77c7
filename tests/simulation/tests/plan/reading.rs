//! How a server is read: with requests that change nothing, page by page, and with the permissions that there are.

use access::User;
use anyhow::{Result, ensure};
use firstlight::plan::State;
use kube::Client;
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};
use store::{Page, Prefix};
use test_plane::requests::{Counting, Requests};

use super::server::{complete, example};

/// Creates an object as the administrator.
async fn create(life: &Life, path: &str, object: Value) -> Result<()> {
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())?;
    life.plane.client("user").request::<Value>(request).await?;
    Ok(())
}

fn client(life: &Life, user: User, requests: &Requests) -> Client {
    Client::new(Counting::new(life.plane.server.client_service(user), requests), "default")
}

async fn read(client: Client) -> Result<State> {
    State::read(client, "https://server".to_owned(), "default").await
}

#[test]
fn nothing_is_written_and_no_secret_is_read() -> Result<()> {
    Simulation::new(1).live(async |life, _| {
        complete(life, &example("clusterclass")?).await?;
        let requests = Requests::default();
        let before = life.store.list(&Prefix::all(), &Page::default());
        let state = read(client(life, User::master("planner"), &requests)).await?;
        let after = life.store.list(&Prefix::all(), &Page::default());
        ensure!(requests.writes() == 0, "{:?}", requests.trace());
        ensure!(before.revision == after.revision && before.items == after.items, "the server has changed");
        let kinds: Vec<&str> = state.objects.iter().filter_map(|object| object["kind"].as_str()).collect();
        for kind in
            ["Cluster", "ClusterClass", "Machine", "DevMachine", "KubeadmConfig", "MachineHealthCheck"]
        {
            ensure!(kinds.contains(&kind), "no {kind} was read");
        }
        ensure!(!kinds.contains(&"Secret") && state.unread.is_empty(), "{:?}", state.unread);
        Ok(())
    })
}

#[test]
fn all_pages_are_read() -> Result<()> {
    Simulation::bare(1).live(async |life, _| {
        for number in 0..1_001 {
            let template = json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate",
                "metadata": {"name": format!("t-{number}")}, "spec": {"template": {"spec": {"backend": {"inMemory": {}}}}},
            });
            let path =
                "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/devmachinetemplates";
            create(life, path, template).await?;
        }
        let state = read(life.plane.client("planner")).await?;
        ensure!(state.objects.len() == 1_001, "{} objects", state.objects.len());
        Ok(())
    })
}

#[test]
fn a_tenant_reads_one_namespace_and_is_told_what_is_missing() -> Result<()> {
    Simulation::new(1).live(async |life, _| {
        complete(life, &example("clusterclass")?).await?;
        let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
        let role = json!({"metadata": {"name": "tenant"}, "rules": [
            {"apiGroups": ["cluster.x-k8s.io", "controlplane.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io"],
                "resources": ["*"], "verbs": ["list"]},
        ]});
        let user = User::new("tenant", Vec::<String>::new());
        let refused = read(client(life, user.clone(), &Requests::default())).await;
        let refused = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
        ensure!(refused.contains("you may not list clusters.cluster.x-k8s.io"), "{refused}");
        create(life, &format!("{roles}/roles"), role).await?;
        let binding = json!({
            "metadata": {"name": "tenant"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}],
        });
        create(life, &format!("{roles}/rolebindings"), binding).await?;
        let state = read(client(life, user, &Requests::default())).await?;
        ensure!(state.objects.iter().any(|object| object["kind"] == "Machine"), "no Machine was read");
        let unread = "devmachines.infrastructure.cluster.x-k8s.io".to_owned();
        ensure!(state.unread.contains(&unread) && state.notes().len() == 1, "{:?}", state.unread);
        Ok(())
    })
}
