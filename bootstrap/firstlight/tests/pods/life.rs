//! The life of containers: probes, sidecars and hooks.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::program::{HEALTH_PORT, PORT, SECURED_PORT};
use super::*;

/// The end of a script that does nothing more.
const FOREVER: &str = "while true; do sleep 1; done";

#[tokio::test]
async fn probes_of_all_types() {
    let machine = Machine::start_with(true).await;
    let more = json!({"spec": {"volumes": [{"name": "tmp", "emptyDir": {}}]}, "container": {
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        "startupProbe": {"exec": {"command": ["cat", "/tmp/started"]}, "periodSeconds": 1, "failureThreshold": 60},
        "readinessProbe": {
            "httpGet": {"path": "/headers", "port": SECURED_PORT, "scheme": "HTTPS", "httpHeaders": [{"name": "X-Test", "value": "yes"}]},
            "periodSeconds": 1,
        },
        "livenessProbe": {"grpc": {"port": HEALTH_PORT, "service": "test"}, "periodSeconds": 1, "failureThreshold": 5},
    }});
    machine.deploy_test("probed", "health::health", "probed", more).await;
    let pod = machine.pod("probed", "ready", is_ready).await;
    let log = machine.logged(&pod, "checked test by kube-probe/1.36").await;
    assert!(log.contains("asked for /headers by kube-probe/1.36 */* yes"), "{log}");
    assert_eq!(container(&pod)["restartCount"], 0);

    // A liveness probe that fails ends the container, and so it starts again.
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{}:{PORT}/proxy/", pod.name_any());
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    machine.client.request_text(request).await.unwrap();
    let is_again = |pod: &Pod| container(pod)["restartCount"] == 1 && is_ready(pod);
    let pod = machine.pod("probed", "ready again", is_again).await;
    assert!(machine.log(&pod, true).await.contains("ill from now on"));
    let expected = ["Started", "Unhealthy", "Killing"];
    let events = wait(async || {
        let events = machine.events(&pod).await;
        let has = |reason: &&str| events.iter().any(|event| event.starts_with(*reason));
        Ok(expected.iter().all(has).then_some(events))
    });
    let events = events.await.unwrap();
    let message = "Liveness probe failed: ";
    assert!(events.iter().any(|event| event.contains(message)), "{events:?}");

    let mut forwarder = machine.pods().portforward(&pod.name_any(), &[PORT, 1]).await.unwrap();
    let mut stream = forwarder.take_stream(PORT).unwrap();
    stream.write_all(b"GET /forwarded HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let refused = forwarder.take_error(1).unwrap().await.unwrap_or_default();
    assert!(refused.contains("refused"), "{refused}");
}

#[tokio::test]
async fn sidecars_start_first_and_end_last() {
    let machine = Machine::start().await;
    let mounts = json!([{"name": "shared", "mountPath": "/shared"}]);
    let sidecar = |name: &str| {
        let script = format!(
            "trap 'echo {name} ends >> /shared/log; exit 0' TERM; echo {name} starts >> /shared/log; {FOREVER}"
        );
        json!({
            "name": name, "image": image::NAME, "args": [script], "restartPolicy": "Always", "volumeMounts": mounts,
            "startupProbe": {"exec": {"command": ["/bin/sh", "-c", format!("cat /shared/{name} && echo {name} probed >> /shared/log")]}, "periodSeconds": 1, "failureThreshold": 60},
            "lifecycle": {"postStart": {"exec": {"command": ["/bin/sh", "-c", format!("echo {name} hook >> /shared/log; echo > /shared/{name}")]}}},
        })
    };
    let init = json!({"name": "init", "image": image::NAME, "args": ["echo init >> /shared/log"], "volumeMounts": mounts});
    let kept = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(kept.path(), Some(65532), None).ok();
    let more = json!({
        "container": {
            "volumeMounts": mounts,
            "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", "echo manager hook >> /shared/log"]}}},
        },
        "spec": {
            "initContainers": [sidecar("first"), init, sidecar("second")],
            "volumes": [{"name": "shared", "hostPath": {"path": kept.path()}}],
            "terminationGracePeriodSeconds": 20,
        },
    });
    let script = format!(
        "trap 'echo manager ends >> /shared/log; exit 0' TERM; echo manager starts >> /shared/log; {FOREVER}"
    );
    machine.deploy("accompanied", &script, more).await;
    let pod = machine.pod("accompanied", "ready", is_ready).await;
    let log = || std::fs::read_to_string(kept.path().join("log")).unwrap_or_default();
    wait(async || Ok(log().contains("manager starts").then_some(()))).await.unwrap();
    let statuses = serde_json::to_value(pod.status.as_ref().unwrap()).unwrap();
    let init = statuses["initContainerStatuses"].as_array().unwrap();
    let found: Vec<_> =
        init.iter().map(|status| (status["name"].as_str().unwrap(), status["ready"] == true)).collect();
    assert_eq!(found, [("first", true), ("init", true), ("second", true)]);

    machine.deployments().delete("accompanied", &DeleteParams::default()).await.unwrap();
    let gone = wait(async || Ok(machine.pods().get_opt(&pod.name_any()).await?.is_none().then_some(())));
    gone.await.unwrap_or_else(|error| panic!("{error}\n{}\n{}", log(), machine.server.log()));
    let expected = "first starts, first hook, first probed, init, second starts, second hook, second probed, manager starts, \
        manager hook, manager ends, second ends, first ends";
    let found: Vec<String> = log().lines().map(str::to_owned).collect();
    // A container and its hook begin at the same time.
    let sorted = |mut lines: Vec<String>| {
        for at in 1..lines.len() {
            if lines[at].ends_with(" starts") && lines[at - 1].ends_with(" hook") {
                lines.swap(at - 1, at);
            }
        }
        lines.join(", ")
    };
    assert_eq!(sorted(found), expected);
}

#[tokio::test]
async fn a_hook_that_fails_ends_the_container() {
    let machine = Machine::start().await;
    let hook = json!({"postStart": {"exec": {"command": ["/bin/sh", "-c", "echo no luck; exit 3"]}}});
    machine.deploy("unlucky", FOREVER, json!({"container": {"lifecycle": hook}})).await;
    let ended = |pod: &Pod| {
        container(pod)["lastState"]["terminated"]["message"].as_str().unwrap_or_default().to_owned()
    };
    let pod = machine.pod("unlucky", "ended", |pod| !ended(pod).is_empty()).await;
    assert_eq!(ended(&pod), "PostStartHookError: command failed with exit code 3: no luck");
}
