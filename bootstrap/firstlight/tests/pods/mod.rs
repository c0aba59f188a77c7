//! Deployments of providers run as processes of this machine.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

#[allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]
mod alone;
#[allow(clippy::print_stdout, reason = "what a container prints is its log")]
mod attacker;
#[allow(clippy::print_stdout, reason = "what a container prints is its log")]
mod health;
mod hostile;
pub mod image;
mod life;
mod limits;
#[allow(clippy::expect_used, clippy::print_stdout, reason = "a test that says why it skips")]
mod network;
#[allow(clippy::print_stdout, reason = "what a container prints is its log")]
mod program;
#[allow(clippy::print_stdout, reason = "a test that says how long it took")]
mod restarts;
mod volumes;

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Namespace, Pod, Secret};
use kube::api::{Api, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use test_server::Server;

const DEADLINE: Duration = Duration::from_secs(60);
const NAMESPACE: &str = "shell-system";

/// A server with the namespace of a provider.
struct Machine {
    server: Server,
    client: Client,
    program: PathBuf,
    options: Vec<String>,
    folder: tempfile::TempDir,
}

/// The number of a user without privileges.
const USER: u32 = 12345;

impl Machine {
    async fn start() -> Self {
        Self::start_with(false).await
    }

    /// Starts a server whose image has this test program, or not.
    async fn start_with(program: bool) -> Self {
        Self::start_as(program, &["--store", "memory"]).await
    }

    /// The same with these options.
    async fn start_as(program: bool, options: &[&str]) -> Self {
        let server = PathBuf::from(env!("CARGO_BIN_EXE_firstlight"));
        Self::start_in(tempfile::tempdir().unwrap(), server, program, options).await
    }

    /// Starts a server, as this user or as one without privileges, with an image that has this test program beside the one that has not.
    async fn start_with_both(as_user: bool, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = folder.path().join("layout");
        image::write_layout(&layout);
        let mut server = PathBuf::from(env!("CARGO_BIN_EXE_firstlight"));
        if as_user && rustix::process::geteuid().is_root() {
            server = as_user_in(folder.path(), &server);
        }
        let options: Vec<&str> =
            options.iter().copied().chain(["--container-images", layout.to_str().unwrap()]).collect();
        Self::start_in(folder, server, false, &options).await
    }

    async fn start_in(
        folder: tempfile::TempDir,
        server: PathBuf,
        with_program: bool,
        options: &[&str],
    ) -> Self {
        let images = image::write(folder.path(), with_program);
        let common = ["--controllers", "pods", "--container-images", images.to_str().unwrap()];
        let options: Vec<String> = options.iter().chain(&common).map(|option| (*option).to_owned()).collect();
        let (program, (server, client)) =
            (server.clone(), Self::serve(&server, folder.path(), &options).await);
        let machine = Self { server, client, program, options, folder };
        machine.namespace(NAMESPACE, json!({"cluster.x-k8s.io/provider": "infrastructure-shell"})).await;
        machine
    }

    async fn serve(program: &Path, folder: &Path, options: &[String]) -> (Server, Client) {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let server = Server::start(program, folder, &options).await.unwrap();
        let client = server.client().await.unwrap();
        (server, client)
    }

    async fn namespace(&self, name: &str, labels: Value) {
        let object = serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
        Api::<Namespace>::all(self.client.clone()).create(&PostParams::default(), &object).await.unwrap();
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Creates a Deployment that runs a script.
    async fn deploy(&self, name: &str, script: &str, more: Value) {
        let mut container = json!({"name": "manager", "image": image::NAME, "args": [script]});
        merge(&mut container, &more["container"]);
        // The shell of a container is process 1, which ignores SIGTERM.
        let mut spec = json!({"containers": [container], "terminationGracePeriodSeconds": 1});
        merge(&mut spec, &more["spec"]);
        let labels = json!({"app": name});
        let object = json!({
            "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        });
        let object = serde_json::from_value(object).unwrap();
        self.deployments().create(&PostParams::default(), &object).await.unwrap();
    }

    /// Waits until the only Pod of a Deployment is as wanted, and returns it.
    async fn pod(&self, name: &str, what: &str, is_wanted: impl Fn(&Pod) -> bool) -> Pod {
        let selected = ListParams::default().labels(&format!("app={name}"));
        let mut last = Vec::new();
        let found = wait(async || {
            last = self.pods().list(&selected).await?.items;
            match last.as_slice() {
                [pod] if is_wanted(pod) => Ok(Some(pod.clone())),
                _ => Ok(None),
            }
        });
        let found = found.await;
        found.unwrap_or_else(|error| panic!("{what}: {error}\n{last:?}\n{}", self.server.log()))
    }

    /// Returns the reasons and messages of the Events of a Pod.
    async fn events(&self, pod: &Pod) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let selected = ListParams::default().fields(&format!("involvedObject.name={}", pod.name_any()));
        let events = events.list(&selected).await.unwrap();
        events
            .into_iter()
            .map(|event| {
                format!("{} {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default())
            })
            .collect()
    }

    async fn log(&self, pod: &Pod, previous: bool) -> String {
        let parameters = LogParams { previous, ..LogParams::default() };
        self.pods().logs(&pod.name_any(), &parameters).await.unwrap()
    }

    /// Waits until the log of a Pod has a line that contains `text`, and returns all of it.
    async fn logged(&self, pod: &Pod, text: &str) -> String {
        let mut log = String::new();
        let found = wait(async || {
            log = self.log(pod, false).await;
            Ok(log.contains(text).then(|| log.clone()))
        });
        let found = found.await;
        found.unwrap_or_else(|error| panic!("{text:?}: {error}\n{log}"))
    }
}

/// Gives a folder to a user without privileges, and returns a program in it that runs a server as that user.
fn as_user_in(folder: &Path, server: &Path) -> PathBuf {
    chown(folder, Some(USER), Some(USER)).unwrap();
    let program = folder.join("as-user");
    let script = format!(
        "#!/bin/sh\nchmod 777 \"$NOTIFY_SOCKET\"\n\
        exec setpriv --reuid={USER} --regid={USER} --clear-groups {} \"$@\"\n",
        server.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

/// Looks until there is an answer, for at most a minute.
async fn wait<T>(mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let found = async {
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    match tokio::time::timeout(DEADLINE, found).await {
        Ok(found) => found,
        Err(_) => bail!("not within {DEADLINE:?}"),
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn container(pod: &Pod) -> Value {
    let status = serde_json::to_value(pod.status.as_ref()).unwrap();
    status["containerStatuses"][0].clone()
}

/// Returns whether a process has this text in its arguments.
fn is_running(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let own = process.file_name().to_string_lossy() == std::process::id().to_string();
        !own && String::from_utf8_lossy(&command).contains(text)
    })
}

#[tokio::test]
async fn a_deployment_runs_as_a_process() {
    let machine = Machine::start().await;
    let secret = json!({"metadata": {"name": "credentials"}, "stringData": {"password": "open sesame"}});
    let secrets: Api<Secret> = Api::namespaced(machine.client.clone(), NAMESPACE);
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let script = "echo user $(cat /proc/self/status | while read key a rest; do [ $key = Uid: ] && echo $a; done); \
        echo made $(cat /data/made); echo password $(cat /credentials/password); \
        echo api $KUBERNETES_SERVICE_PORT $(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace); \
        [ -s /var/run/secrets/kubernetes.io/serviceaccount/token ] && echo token; \
        echo name $NAME $GOMEMLIMIT; echo pid $$$$; echo first-deployment; while true; do sleep 1; done";
    let mounts =
        json!([{"name": "data", "mountPath": "/data"}, {"name": "credentials", "mountPath": "/credentials"}]);
    let more = json!({
        "container": {
            "volumeMounts": mounts,
            "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
            "resources": {"limits": {"memory": "100M"}},
        },
        "spec": {
            "initContainers": [{
                "name": "init", "image": image::NAME, "args": ["echo by-init > /data/made"], "volumeMounts": mounts,
            }],
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "credentials", "secret": {"secretName": "credentials"}},
            ],
        },
    });
    machine.deploy("first", script, more).await;
    let pod = machine.pod("first", "ready", is_ready).await;
    let log = machine.logged(&pod, "first-deployment").await;
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { "user 65532" } else { "user " };
    for line in [user, "made by-init", "password open sesame", "token", "name shell-system 90000000"] {
        assert!(log.contains(line), "{line} is missing in\n{log}");
    }
    assert!(log.contains(" shell-system\n"), "{log}");
    // Root makes a namespace of processes for each container.
    assert_eq!(log.contains("pid 1\n"), is_root, "{log}");
    let available = wait(async || {
        let found = machine.deployments().get("first").await?;
        Ok(found.status.and_then(|status| status.available_replicas).filter(|count| *count == 1))
    });
    available.await.unwrap();

    machine.deployments().delete("first", &DeleteParams::default()).await.unwrap();
    let gone = wait(async || Ok(machine.pods().get_opt(&pod.name_any()).await?.is_none().then_some(())));
    gone.await.unwrap();
    let ended = wait(async || Ok((!is_running("first-deployment")).then_some(())));
    ended.await.unwrap();
}

#[tokio::test]
async fn a_program_that_ends_is_started_again() {
    let machine = Machine::start().await;
    machine.deploy("crash", "echo last words; exit 7", json!({})).await;
    let is_backing_off = |pod: &Pod| {
        container(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
            && container(pod)["restartCount"] == 2
    };
    let pod = machine.pod("crash", "back-off", is_backing_off).await;
    let last = &container(&pod)["lastState"]["terminated"];
    assert_eq!((&last["exitCode"], &last["reason"]), (&json!(7), &json!("Error")));
    assert_eq!(machine.log(&pod, true).await, "last words\n");
}

#[tokio::test]
async fn a_changed_template_replaces_the_process() {
    let machine = Machine::start().await;
    machine.deploy("changes", "echo version one; while true; do sleep 1; done", json!({})).await;
    let old = machine.pod("changes", "ready", is_ready).await;
    let containers = json!([{"name": "manager", "image": image::NAME, "args": ["echo version two; while true; do sleep 1; done"]}]);
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    machine.deployments().patch("changes", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    let is_new = |pod: &Pod| is_ready(pod) && pod.name_any() != old.name_any();
    let new = machine.pod("changes", "replaced", is_new).await;
    machine.logged(&new, "version two").await;
}

#[tokio::test]
async fn what_cannot_run_says_why() {
    let machine = Machine::start().await;
    let waiting = |pod: &Pod| container(pod)["state"]["waiting"].clone();
    for (name, more, reason, message) in [
        (
            "image",
            // Nobody listens there.
            json!({"container": {"image": "127.0.0.1:1/other:v1"}}),
            "ErrImagePull",
            "127.0.0.1:1/other:v1",
        ),
        ("name", json!({"container": {"image": "Not A Name"}}), "InvalidImageName", "Not A Name"),
        (
            "secret",
            json!({"container": {"envFrom": [{"secretRef": {"name": "absent"}}]}}),
            "CreateContainerConfigError",
            "secret \"absent\" not found",
        ),
        (
            "root",
            json!({"container": {"securityContext": {"runAsUser": 0, "runAsNonRoot": true}}}),
            "CreateContainerConfigError",
            "runAsNonRoot",
        ),
    ] {
        machine.deploy(name, "exit 0", more).await;
        let pod = machine.pod(name, reason, |pod| waiting(pod)["reason"] == reason).await;
        assert!(waiting(&pod)["message"].as_str().unwrap().contains(message), "{}", waiting(&pod));
    }
    // Whoever can create Pods elsewhere runs nothing on this machine.
    machine.namespace("tenant", json!({})).await;
    let pods: Api<Pod> = Api::namespaced(machine.client.clone(), "tenant");
    let pod = json!({
        "metadata": {"name": "intruder"},
        "spec": {"containers": [{"name": "a", "image": image::NAME, "args": ["echo intruder; sleep 60"]}]},
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    machine.deploy("later", "while true; do sleep 1; done", json!({})).await;
    machine.pod("later", "ready", is_ready).await;
    let intruder = pods.get("intruder").await.unwrap();
    assert!(intruder.spec.unwrap().node_name.is_none());
}

#[tokio::test]
async fn no_process_outlives_the_server() {
    let mut machine = Machine::start().await;
    machine.deploy("orphan", "echo never-an-orphan; while true; do sleep 1; done", json!({})).await;
    let pod = machine.pod("orphan", "ready", is_ready).await;
    machine.logged(&pod, "never-an-orphan").await;
    assert!(is_running("never-an-orphan"));
    machine.server.kill().await.unwrap();
    let ended = wait(async || Ok((!is_running("never-an-orphan")).then_some(())));
    ended.await.unwrap();
}
