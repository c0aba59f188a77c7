//! Which socket is used, and what is said if there is none.

use std::ffi::OsString;
use std::path::PathBuf;

use node_docker::{Docker, Engine, Options, candidates};
use serde_json::json;
use system_containers::{Runtime, Spec, State};

use crate::nodes_docker::daemon::Daemon;
use crate::nodes_docker::fixture::options;

fn found(engine: Engine, variables: &[(&str, &str)]) -> Result<Vec<String>, String> {
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    };
    let paths = candidates(engine, variable).map_err(|error| format!("{error:#}"))?;
    Ok(paths.iter().map(|path| path.display().to_string()).collect())
}

#[test]
fn the_usual_sockets_are_tried_in_their_order() {
    let (docker, podman) = ("/var/run/docker.sock", "/run/podman/podman.sock");
    let own = ("XDG_RUNTIME_DIR", "/run/user/1000");
    let of_user = "/run/user/1000/podman/podman.sock";
    for (engine, variables, expected) in [
        (Engine::Docker, vec![own], vec![docker]),
        (Engine::Podman, vec![], vec![podman]),
        (Engine::Podman, vec![own], vec![podman, of_user]),
        (Engine::Docker, vec![("DOCKER_HOST", "unix:///x.sock"), own], vec!["/x.sock"]),
        (Engine::Docker, vec![("DOCKER_HOST", ""), ("CONTAINER_HOST", "unix:///y.sock")], vec![docker]),
        (Engine::Podman, vec![("DOCKER_HOST", "unix:///x.sock")], vec![podman]),
        (Engine::Podman, vec![("CONTAINER_HOST", "unix:///y.sock"), own], vec!["/y.sock"]),
    ] {
        assert_eq!(found(engine, &variables).unwrap(), expected, "{engine:?} {variables:?}");
    }
    for host in ["tcp://10.0.0.1:2376", "ssh://a@b", "unix://relative"] {
        let error = found(Engine::Docker, &[("DOCKER_HOST", host)]).unwrap_err();
        assert!(error.contains(host) && error.contains("unix://"), "{error}");
    }
}

#[tokio::test]
async fn without_a_daemon_it_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start(folder.path());
    let open = async |daemon: &Daemon| match Docker::open(options(&folder, daemon)).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => format!("{error:#}"),
    };
    daemon.state.lock().version = json!({"Version": "18.09", "ApiVersion": "1.39"});
    let old = open(&daemon).await;
    assert!(old.contains("18.09") && old.contains("1.40"), "{old}");
    daemon.state.lock().version = json!({"Version": "99", "ApiVersion": "9.9", "MinAPIVersion": "9.0"});
    let new = open(&daemon).await;
    assert!(new.contains("upgrade this program"), "{new}");
    daemon.go_away().await;
    let away = open(&daemon).await;
    assert!(away.contains("does not run") && away.contains("systemctl start docker"), "{away}");
    daemon.socket = PathBuf::from("/nowhere/docker.sock");
    let missing = open(&daemon).await;
    assert!(missing.contains("/nowhere/docker.sock") && missing.contains("DOCKER_HOST"), "{missing}");
    let podman = Docker::open(Options { engine: Engine::Podman, ..options(&folder, &daemon) }).await;
    let missing = podman.err().map(|error| format!("{error:#}")).unwrap_or_default();
    assert!(missing.contains("Podman") && missing.contains("CONTAINER_HOST=unix://"), "{missing}");
    assert!(!missing.contains("Docker") && !missing.contains("DOCKER_HOST"), "{missing}");
}

#[tokio::test]
async fn podman_is_known_by_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path());
    daemon.state.lock().version = json!({"Version": "4.3.1", "ApiVersion": "1.41", "MinAPIVersion": "1.24",
        "Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]});
    let docker = Docker::open(options(&folder, &daemon)).await.unwrap();
    assert_eq!(docker.engine(), Engine::Podman);
    // Its own call is used where that of Docker would give a node the control groups of the machine.
    for (version, expected) in [("2", "POST /containers/create"), ("1", "POST /libpod/containers/create")] {
        daemon.state.lock().info["CgroupVersion"] = json!(version);
        docker.create(&Spec::new(&format!("c-{version}"), "kindest/node:v1.36.2")).await.unwrap();
        assert_eq!(daemon.changes().last().unwrap(), expected);
        assert_eq!(docker.inspect(&format!("c-{version}")).await.unwrap().unwrap().state, State::Created);
    }
}
