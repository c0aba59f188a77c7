//! What hinders nodes.

use node_docker::Engine;
use node_docker::preflight::{Facts, findings};
use serde_json::json;
use system_containers::{Runtime, Weight};

use crate::nodes_docker::fixture::Fixture;

fn good() -> Facts {
    Facts {
        engine: Engine::Docker,
        version: "27.3".to_owned(),
        cgroup_version: "2".to_owned(),
        driver: "overlay2".to_owned(),
        runtime: "runc".to_owned(),
        is_rootless: false,
        is_virtual: false,
        has_resource_capability: true,
        inotify: Some((1024, 524_288)),
    }
}

#[test]
fn each_fact_has_its_finding() {
    let worst = |facts: Facts| {
        let found = findings(&facts);
        let worst = found.first().unwrap();
        (worst.weight, worst.what.clone())
    };
    for (facts, weight, what) in [
        (good(), Weight::Note, "Docker 27.3"),
        (Facts { is_rootless: true, ..good() }, Weight::Obstacle, "without root"),
        (
            Facts { is_rootless: true, engine: Engine::Podman, ..good() },
            Weight::Obstacle,
            "Podman runs without root",
        ),
        (Facts { is_virtual: true, ..good() }, Weight::Obstacle, "virtual machine"),
        (Facts { driver: "vfs".to_owned(), ..good() }, Weight::Warning, "vfs"),
        (Facts { has_resource_capability: false, ..good() }, Weight::Warning, "CAP_SYS_RESOURCE"),
        (Facts { inotify: Some((128, 8192)), ..good() }, Weight::Warning, "inotify"),
    ] {
        let found = worst(facts);
        assert!(found.0 == weight && found.1.contains(what), "{found:?}");
    }
    let adapted = Facts { has_resource_capability: false, runtime: "node".to_owned(), ..good() };
    assert_eq!(worst(adapted).0, Weight::Note);
    let first = Facts { cgroup_version: "1".to_owned(), ..good() };
    assert!(findings(&first).iter().any(|finding| finding.what.contains("version 1")));
}

#[tokio::test]
async fn facts_come_from_the_daemon() {
    let fixture = Fixture::new().await;
    fixture.daemon.state.lock().info = json!({"ServerVersion": "4.3.1", "Driver": "vfs", "CgroupVersion": "1",
        "OperatingSystem": null, "SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]});
    let found = fixture.docker.preflight().await.unwrap();
    let has = |text: &str| found.iter().any(|finding| finding.what.contains(text));
    assert!(has("4.3.1") && has("vfs") && has("without root") && has("version 1"), "{found:#?}");
    assert!(fixture.docker.has_cgroups_v1().await.unwrap());
}
