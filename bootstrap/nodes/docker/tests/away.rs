//! A daemon that is away, and comes back.

use std::collections::BTreeMap;
use std::time::Duration;

use system_containers::{Images, Runtime, Spec, State, run};

use crate::nodes_docker::fixture::Fixture;

#[tokio::test]
async fn everything_goes_on_when_the_daemon_is_back() {
    let mut fixture = Fixture::new().await;
    fixture.node("c-1").await;
    fixture.daemon.go_away().await;
    let docker = fixture.docker.clone();
    let limit = Duration::from_secs(5);
    let spec = Spec::new("c-2", "kindest/node:v1.36.2");
    for failed in [
        docker.list(&BTreeMap::new()).await.map(drop),
        docker.inspect("c-1").await.map(drop),
        docker.create(&spec).await.map(drop),
        docker.remove("c-1").await,
        docker.find("kindest/node:v1.36.2", &|_| ()).await.map(drop),
        run(docker.as_ref(), "c-1", &["true"], b"", limit).await.map(drop),
        docker.preflight().await.map(drop),
    ] {
        let error = format!("{:#}", failed.unwrap_err());
        assert!(error.contains("Docker does not run") && error.contains("docker.sock"), "{error}");
    }
    fixture.daemon.come_back();
    assert_eq!(docker.inspect("c-1").await.unwrap().unwrap().state, State::Running);
    docker.create(&spec).await.unwrap();
}

#[tokio::test]
async fn a_program_whose_daemon_goes_away_has_no_exit_code() {
    let mut fixture = Fixture::new().await;
    fixture.node("c-1").await;
    fixture.daemon.state.lock().program = "long".to_owned();
    let docker = fixture.docker.clone();
    let ran = tokio::spawn(async move {
        run(docker.as_ref(), "c-1", &["sleep", "60"], b"", Duration::from_secs(60)).await
    });
    let deadline = tokio::time::timeout(Duration::from_secs(20), async {
        while !fixture.daemon.changes().iter().any(|call| call.ends_with("/start") && call.contains("/exec/"))
        {
            tokio::task::yield_now().await;
        }
    });
    deadline.await.unwrap();
    fixture.daemon.go_away().await;
    let error = format!("{:#}", ran.await.unwrap().unwrap_err());
    assert!(error.contains("c-1") && error.contains("Docker"), "{error}");
}
