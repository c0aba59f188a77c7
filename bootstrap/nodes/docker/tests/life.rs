//! Containers from their creation to their removal.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use node_docker::Docker;
use serde_json::json;
use system_containers::{Runtime, Spec, State};

use crate::nodes_docker::fixture::{Fixture, options};

#[tokio::test]
async fn a_container_lives() {
    let fixture = Fixture::new().await;
    let docker = &fixture.docker;
    let mut spec = Spec::new("c-1", "kindest/node:v1.36.2");
    spec.labels.insert("role".to_owned(), "worker".to_owned());
    let created = docker.create(&spec).await.unwrap();
    assert_eq!((&created.state, created.address), (&State::Created, Ipv4Addr::new(172, 18, 0, 2)));
    assert_eq!((created.started, created.pid), (None, None));
    assert_eq!(created.labels, spec.labels, "its user does not see the labels of the runtime");
    let started = docker.start("c-1").await.unwrap();
    assert_eq!((started.state, started.pid), (State::Running, Some(4711)));
    assert!(started.started.unwrap() > started.created);
    docker.start("c-1").await.unwrap();
    docker.pause("c-1").await.unwrap();
    docker.pause("c-1").await.unwrap();
    assert_eq!(docker.inspect("c-1").await.unwrap().unwrap().state, State::Paused);
    docker.resume("c-1").await.unwrap();
    docker.kill("c-1").await.unwrap();
    let killed = docker.inspect("c-1").await.unwrap().unwrap();
    assert_eq!(killed.state, State::Stopped { code: Some(137), error: None });
    assert_eq!(killed.address, created.address, "its address stays when it does not run");
    docker.kill("c-1").await.unwrap();
    docker.start("c-1").await.unwrap();
    docker.stop("c-1", Duration::from_secs(7)).await.unwrap();
    assert_eq!(fixture.daemon.last("POST", "/containers/c-1/stop").query["t"], "7");
    docker.remove("c-1").await.unwrap();
    let removal = fixture.daemon.last("DELETE", "/containers/c-1");
    assert_eq!((removal.query["force"].as_str(), removal.query["v"].as_str()), ("1", "1"));
    assert_eq!(docker.inspect("c-1").await.unwrap(), None);
    docker.remove("c-1").await.unwrap();
}

#[tokio::test]
async fn the_network_comes_with_the_first_container_and_goes_with_the_last() {
    let fixture = Fixture::new().await;
    fixture.node("c-1").await;
    fixture.node("c-2").await;
    let made = fixture.daemon.last("POST", "/networks/create").json();
    assert_eq!(made["Name"], "kind");
    let config = &made["IPAM"]["Config"][0];
    assert_eq!(config["Subnet"], "172.18.0.0/16", "the range that the daemon has chosen");
    assert_eq!(config["IPRange"], "172.18.128.0/18", "addresses of others are not those of nodes");
    fixture.docker.remove("c-1").await.unwrap();
    assert!(fixture.daemon.state.lock().networks.contains_key("kind"));
    fixture.docker.remove("c-2").await.unwrap();
    assert!(fixture.daemon.state.lock().networks.is_empty());
}

#[tokio::test]
async fn the_network_of_others_stays() {
    let fixture = Fixture::new().await;
    let others = json!({"Id": "id-kind", "Labels": {}, "IPAM": {"Config": [
        {"Subnet": "fc00:f853:ccd:e793::/64"}, {"Subnet": "10.90.0.0/24", "Gateway": "10.90.0.1"}]},
        "Containers": {"x": {"IPv4Address": "10.90.0.2/24"}}});
    fixture.daemon.state.lock().networks.insert("kind".to_owned(), others);
    fixture.node("c-1").await;
    let found = fixture.docker.inspect("c-1").await.unwrap().unwrap();
    assert_eq!(found.address, Ipv4Addr::new(10, 90, 0, 3));
    let wanted =
        Spec { address: Some(Ipv4Addr::new(10, 90, 0, 2)), ..Spec::new("c-2", "kindest/node:v1.36.2") };
    let error = format!("{:#}", fixture.docker.create(&wanted).await.unwrap_err());
    assert!(error.contains("c-2") && error.contains("10.90.0.2"), "{error}");
    fixture.docker.remove("c-1").await.unwrap();
    assert!(fixture.daemon.state.lock().networks.contains_key("kind"));
}

#[tokio::test]
async fn containers_that_are_created_at_the_same_time_have_different_addresses() {
    let fixture = Fixture::new().await;
    let create = |number: u32| {
        let docker = fixture.docker.clone();
        async move {
            docker.create(&Spec::new(&format!("c-{number}"), "kindest/node:v1.36.2")).await.unwrap().address
        }
    };
    let addresses = futures::future::join_all((0..6).map(create)).await;
    let different: std::collections::BTreeSet<_> = addresses.iter().collect();
    assert_eq!(different.len(), 6, "{addresses:?}");
}

#[tokio::test]
async fn an_address_that_is_not_there_is_an_error() {
    let fixture = Fixture::new().await;
    fixture.node("c-1").await;
    let set = |address: &str| {
        let mut state = fixture.daemon.state.lock();
        let container = state.containers.get_mut("c-1").unwrap();
        container["NetworkSettings"]["Networks"]["kind"]["IPAddress"] = json!(address);
    };
    for (address, expected) in [("", "no address in the network kind"), ("172.18.0.9", "172.18.0.9")] {
        set(address);
        let error = format!("{:#}", fixture.docker.inspect("c-1").await.unwrap_err());
        assert!(error.contains("c-1") && error.contains(expected), "{error}");
    }
    set("172.18.0.2");
    fixture.docker.inspect("c-1").await.unwrap();
}

#[tokio::test]
async fn containers_of_others_are_seen_and_never_changed() {
    let fixture = Fixture::new().await;
    fixture.node("c-1").await;
    let other = tempfile::tempdir().unwrap();
    let mut theirs = options(&other, &fixture.daemon);
    theirs.random = machinery::random::Random::seeded(2);
    let theirs = Docker::open(theirs).await.unwrap();
    let seen = theirs.inspect("c-1").await.unwrap().unwrap();
    assert!(seen.labels.contains_key("firstlight.dev/data-directory"), "its labels are those of nobody else");
    assert_eq!(theirs.list(&BTreeMap::new()).await.unwrap(), []);
    let spec = Spec::new("c-1", "kindest/node:v1.36.2");
    let no_time = Duration::ZERO;
    for refused in [
        theirs.create(&spec).await.map(drop),
        theirs.start("c-1").await.map(drop),
        theirs.pause("c-1").await,
        theirs.stop("c-1", no_time).await,
        theirs.kill("c-1").await,
        theirs.remove("c-1").await,
        system_containers::run(&theirs, "c-1", &["true"], b"", no_time).await.map(drop),
    ] {
        let error = format!("{:#}", refused.unwrap_err());
        assert!(error.contains("has not created"), "{error}");
    }
    let own = fixture.docker.inspect("c-1").await.unwrap().unwrap();
    assert_eq!(own.state, State::Running);
    // A directory that moves has its containers.
    let again = Docker::open(options(&fixture.folder, &fixture.daemon)).await.unwrap();
    assert_eq!(again.list(&BTreeMap::new()).await.unwrap(), [own]);
}

#[tokio::test]
async fn containers_are_found_by_all_labels() {
    let fixture = Fixture::new().await;
    for (name, cluster, role) in [("c-2", "c", "worker"), ("c-1", "c", "worker"), ("d-1", "d", "worker")] {
        let mut spec = Spec::new(name, "kindest/node:v1.36.2");
        spec.labels =
            [("cluster", cluster), ("role", role)].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        fixture.docker.create(&spec).await.unwrap();
    }
    let names = async |labels: &[(&str, &str)]| -> Vec<String> {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let found = fixture.docker.list(&labels).await.unwrap();
        found.into_iter().map(|container| container.name).collect()
    };
    assert_eq!(names(&[]).await, ["c-1", "c-2", "d-1"]);
    assert_eq!(names(&[("cluster", "c"), ("role", "worker")]).await, ["c-1", "c-2"]);
    assert!(names(&[("cluster", "c"), ("role", "other")]).await.is_empty());
}

#[tokio::test]
async fn errors_say_what_is_wrong() {
    let fixture = Fixture::new().await;
    let create = async |name: &str, image: &str| match fixture.docker.create(&Spec::new(name, image)).await {
        Ok(_) => String::new(),
        Err(error) => format!("{error:#}"),
    };
    let missing = create("c-1", "nowhere").await;
    assert!(missing.contains("container c-1 cannot be created: Docker: No such image: nowhere"), "{missing}");
    assert_eq!(create("c-1", "kindest/node:v1.36.2").await, "");
    assert!(create("c-1", "kindest/node:v1.36.2").await.contains("there is a container of this name"));
    assert!(create("C_1", "kindest/node:v1.36.2").await.contains("no name of a container"));
    let error = format!("{:#}", fixture.docker.pause("c-1").await.unwrap_err());
    assert!(error.contains("it is created"), "{error}");
    let error = format!("{:#}", fixture.docker.start("c-9").await.unwrap_err());
    assert!(error.contains("c-9") && error.contains("create it first"), "{error}");
    let no_range = "user specified IP address is supported only when connecting to networks with user configured subnets";
    fixture.daemon.state.lock().refuse.push((
        "POST /containers/c-1/start".to_owned(),
        400,
        no_range.to_owned(),
    ));
    let error = format!("{:#}", fixture.docker.start("c-1").await.unwrap_err());
    assert!(error.contains("docker network rm kind"), "{error}");
}

#[tokio::test]
async fn the_end_of_a_console_is_returned() {
    let fixture = Fixture::new().await;
    fixture.node("c-1").await;
    fixture.daemon.state.lock().console = b"first\r\nReached target Multi-User System\r\n".to_vec();
    assert_eq!(fixture.docker.console("c-1", 8).await.unwrap(), b"System\r\n");
    assert_eq!(fixture.daemon.last("GET", "/containers/c-1/logs").query["tail"], "8", "not all of it comes");
    assert_eq!(fixture.docker.console("c-1", 1 << 20).await.unwrap().len(), 41);
}
