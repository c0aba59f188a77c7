//! Images: those that the daemon has, pulls, and loads.

use std::time::Duration;

use container_images::Credentials;
use node_docker::{Docker, Pull};
use parking_lot::Mutex;
use serde_json::json;
use system_containers::{Images, Runtime, Spec};
use tokio::io::AsyncReadExt;

use crate::nodes_docker::fixture::{Fixture, options};

#[tokio::test]
async fn an_image_that_is_there_is_used() {
    let fixture = Fixture::new().await;
    let image = fixture.docker.find("kindest/node:v1.36.2", &|_| panic!("nothing is fetched")).await.unwrap();
    assert_eq!((image.id.as_str(), image.kubernetes.as_deref()), ("kindest/node:v1.36.2", Some("v1.36.2")));
    assert!(image.command.is_empty(), "the daemon knows it");
    assert!(fixture.daemon.state.lock().containers.is_empty(), "nothing is left of the look into it");
    let before = fixture.daemon.changes().len();
    fixture.docker.find("kindest/node:v1.36.2", &|_| ()).await.unwrap();
    assert_eq!(fixture.daemon.changes().len(), before, "it is looked into once");
}

#[tokio::test]
async fn an_image_that_is_none_of_a_node_is_refused() {
    let fixture = Fixture::new().await;
    let find = async || match fixture.docker.find("kindest/node:v1.36.2", &|_| ()).await {
        Ok(_) => String::new(),
        Err(error) => format!("{error:#}"),
    };
    fixture.daemon.state.lock().vanishes = true;
    let error = find().await;
    assert!(error.contains("somebody has removed") && !error.contains("kubeadm"), "{error}");
    fixture.daemon.state.lock().vanishes = false;
    for program in ["/usr/bin/kubeadm", "/usr/local/bin/ctr", "/usr/local/bin/crictl"] {
        fixture.daemon.state.lock().files.remove(program);
    }
    let error = find().await;
    let missing = "it has no kubeadm, no ctr, no crictl in /usr/bin:/usr/local/bin";
    assert!(error.contains("kindest/node:v1.36.2") && error.contains(missing), "{error}");
    assert!(fixture.daemon.state.lock().containers.is_empty());
    let image = |field: &str, value: serde_json::Value| {
        fixture.daemon.state.lock().images.get_mut("kindest/node:v1.36.2").unwrap()[field] = value;
    };
    image("Config", json!({"Entrypoint": null, "Cmd": null}));
    assert!(find().await.contains("no entrypoint"));
    image("Architecture", json!("s390x"));
    assert!(find().await.contains("s390x"));
}

#[tokio::test]
async fn a_name_that_has_another_image_is_looked_into_again() {
    let fixture = Fixture::new().await;
    let name = "kindest/node:v1.36.2";
    let version = async || fixture.docker.find(name, &|_| ()).await.unwrap().kubernetes.unwrap();
    assert_eq!(version().await, "v1.36.2");
    {
        let mut state = fixture.daemon.state.lock();
        state.files.insert("/kind/version".to_owned(), b"v1.36.3\n".to_vec());
        state.images.get_mut(name).unwrap()["Id"] = json!("sha256:4567");
    }
    assert_eq!(version().await, "v1.36.3");
}

/// A command and a server have the same data directory.
#[tokio::test]
async fn what_another_process_reads_is_removed_only_after_its_end() {
    let fixture = Fixture::new().await;
    let data = fixture.folder.path().join("data");
    let owner = std::fs::read_to_string(data.join("owner")).unwrap();
    let labels = json!({"firstlight.dev/data-directory": owner, "firstlight.dev/look": "true"});
    let left = json!({"Id": "id-left", "State": {"Status": "created"}, "Config": {"Labels": labels}});
    fixture.daemon.state.lock().containers.insert("left".to_owned(), left);
    // What a process has while it looks into an image.
    let looks = files::try_lock_shared(&data.join("look.lock")).unwrap().unwrap();
    let second = Docker::open(options(&fixture.folder, &fixture.daemon)).await.unwrap();
    assert!(fixture.daemon.state.lock().containers.contains_key("left"), "the other process reads it");
    second.find("kindest/node:v1.36.2", &|_| ()).await.unwrap();
    drop(looks);
    Docker::open(options(&fixture.folder, &fixture.daemon)).await.unwrap();
    assert!(fixture.daemon.state.lock().containers.is_empty(), "nobody reads it any more");
}

#[tokio::test]
async fn a_pull_that_hangs_delays_no_other_and_is_given_up() {
    let fixture = Fixture::new().await;
    {
        let mut state = fixture.daemon.state.lock();
        state.hangs = Some("stuck".to_owned());
        state.pulls = Some("other:1".to_owned());
        let line =
            r#"{"status":"Downloading","progressDetail":{"current":5000000,"total":50000000},"id":"a"}"#;
        state.pull = format!("{line}\n");
    }
    let begun = tokio::sync::Notify::new();
    let report = |words: &str| {
        if words.ends_with("MB") {
            begun.notify_one();
        }
    };
    let stuck = fixture.docker.find("stuck:1", &report);
    tokio::pin!(stuck);
    let other = async {
        begun.notified().await;
        let found = fixture.docker.find("other:1", &|_| ());
        tokio::time::timeout(Duration::from_secs(20), found).await
    };
    tokio::select! {
        found = &mut stuck => panic!("nothing more is said: {found:?}"),
        found = other => found.unwrap().unwrap(),
    };
    tokio::time::pause();
    let error = format!("{:#}", stuck.await.unwrap_err());
    assert!(error.contains("Docker pulls") && error.contains("nothing was said for 300 s"), "{error}");
}

#[tokio::test]
async fn an_image_is_pulled_and_its_progress_told() {
    let fixture = Fixture::new().await;
    let mut options = options(&fixture.folder, &fixture.daemon);
    let config = br#"{"auths": {"registry.example": {"username": "me", "password": "secret"}}}"#;
    options.credentials = Credentials::of_docker_config(config).unwrap();
    let docker = Docker::open(options).await.unwrap();
    {
        let mut state = fixture.daemon.state.lock();
        state.pulls = Some("registry.example/node:v1".to_owned());
        state.pull = [
            r#"{"status":"Pulling from node","id":"v1"}"#,
            r#"{"status":"Downloading","progressDetail":{"current":5000000,"total":50000000},"id":"a"}"#,
            r#"{"status":"Downloading","progressDetail":{"current":5100000,"total":50000000},"id":"a"}"#,
            r#"{"status":"Download complete","progressDetail":{},"id":"a"}"#,
        ]
        .join("\r\n");
    }
    let said = Mutex::new(Vec::new());
    docker.find("registry.example/node:v1", &|text| said.lock().push(text.to_owned())).await.unwrap();
    let name = "registry.example/node:v1";
    let expected =
        [format!("pulling {name}"), format!("pulling {name}: 5 of 50 MB"), format!("unpacking {name}")];
    assert_eq!(*said.lock(), expected);
    let call = fixture.daemon.last("POST", "/images/create");
    assert_eq!(
        (call.query["fromImage"].as_str(), call.query["tag"].as_str()),
        ("registry.example/node", "v1")
    );
    assert!(call.login.is_some());
}

#[tokio::test]
async fn an_image_that_is_nowhere_says_where_it_was_looked_for() {
    let fixture = Fixture::new().await;
    fixture.daemon.state.lock().pull =
        r#"{"errorDetail":{"message":"manifest unknown"},"error":"manifest unknown"}"#.to_owned();
    let error = fixture.docker.find("nowhere:1", &|_| ()).await.unwrap_err();
    let error = format!("{error:#}");
    for part in ["manifest unknown", "--container-images", "docker.io/library/nowhere:1", "Docker"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn an_image_becomes_an_archive() {
    let fixture = Fixture::new().await;
    let mut archive = Vec::new();
    let mut stream = fixture.docker.archive("kindest/node:v1.36.2").await.unwrap();
    stream.read_to_end(&mut archive).await.unwrap();
    assert_eq!(archive, b"an archive");
    assert_eq!(fixture.daemon.last("GET", "/images/get").query["names"], "kindest/node:v1.36.2");
}

#[tokio::test]
async fn the_image_of_balancers_is_made_once_and_goes_with_the_last_one() {
    let fixture = Fixture::new().await;
    let folder = fixture.folder.path();
    let spec = |name: &str| Spec::balancer(name, &folder.join("configuration"), &folder.join("status"));
    for name in ["a-lb", "b-lb"] {
        let made = fixture.docker.create(&spec(name)).await.unwrap();
        assert_eq!(made.image, "", "nobody has chosen its image");
        assert_eq!(made.address.octets()[2], 255, "balancers have the last addresses");
    }
    let imports = fixture.daemon.changes().iter().filter(|call| *call == "POST /images/create").count();
    assert_eq!(imports, 1);
    let import = fixture.daemon.last("POST", "/images/create");
    let mut archive = tar::Archive::new(import.body.as_ref());
    let paths: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    assert_eq!(
        paths,
        ["balancer/", "balancer/configuration/", "balancer/status/", "firstlight-node-balancer"]
    );
    let has_image =
        || fixture.daemon.state.lock().images.keys().any(|name| name.contains("firstlight-balancer"));
    fixture.daemon.state.lock().refuse.push(("DELETE /images/".to_owned(), 409, "it is in use".to_owned()));
    fixture.docker.remove("a-lb").await.unwrap();
    assert!(has_image());
    fixture.docker.remove("b-lb").await.unwrap();
    assert!(!has_image());
}

#[test]
fn a_pull_is_told_seldom() {
    let mut pull = Pull::new("node");
    let mut told = 0;
    for number in 0..=1000 {
        let line = format!(
            r#"{{"status":"Downloading","id":"a","progressDetail":{{"current":{},"total":1000000000}}}}"#,
            number * 1_000_000
        );
        told += usize::from(pull.of(&line).is_some());
    }
    assert_eq!(told, 11);
    for line in
        ["", "{", "[]", r#"{"status":"Downloading"}"#, r#"{"status":"Downloading","progressDetail":null}"#]
    {
        assert_eq!(pull.of(line), None, "{line}");
    }
}
