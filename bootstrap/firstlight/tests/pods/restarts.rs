//! A server that is stopped and started again with its providers.

use k8s_openapi::api::core::v1::ConfigMap;
use machinery::clock::Clock;
use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// How often the server is started, unless the environment says otherwise.
const RESTARTS: usize = 5;

impl Machine {
    /// Ends the server: by its own means, or without a chance to do anything.
    async fn stop(&mut self, is_killed: bool) {
        if is_killed {
            return self.server.kill().await.unwrap();
        }
        let id = self.server.id().and_then(|id| Pid::from_raw(i32::try_from(id).unwrap())).unwrap();
        kill_process(id, Signal::TERM).unwrap();
        wait(async || Ok(self.server.ended()?)).await.unwrap();
    }

    async fn start_again(&mut self) {
        (self.server, self.client) = Self::serve(&self.program, self.folder.path(), &self.options).await;
    }
}

/// The time from `serving` to the first answer of a webhook in a Pod, on a machine that does nothing else.
const ANSWERED: Duration = Duration::from_secs(3);
/// The number of providers with volumes.
const PROVIDERS: usize = 5;
/// A provider that ends if a file of it is missing when it starts.
const WHOLE: &str = "for file in \
    /var/run/secrets/kubernetes.io/serviceaccount/token /var/run/secrets/kubernetes.io/serviceaccount/ca.crt \
    /own/key /map/key; do [ -s $file ] || { echo there is no $file; exit 1; }; done; \
    echo whole $(cat /own/key) $(cat /map/key) end; while true; do sleep 1; done";

/// How often the server is started.
fn times() -> (usize, bool) {
    let named = std::env::var("POD_RESTARTS").ok().and_then(|times| times.parse().ok());
    (named.unwrap_or(RESTARTS), named.is_some())
}

/// A provider with a child that outlives its parent. Both have the name of the test in their arguments.
fn script(name: &str) -> String {
    format!(
        "(trap '' HUP; (while true; do sleep 1; done) &) ; echo life-of-{name}; while true; do sleep 1; done"
    )
}

async fn survives(name: &str, options: &[&str]) {
    let (script, life) = (script(name), format!("life-of-{name}"));
    let (times, _) = times();
    let mut machine = Machine::start_as(false, options).await;
    machine.deploy("phoenix", &script, json!({})).await;
    let (mut seconds, clock) = (Vec::new(), Clock::system());
    for time in 0..times {
        if time > 0 {
            let begun = clock.monotonic();
            machine.start_again().await;
            let is_back = |pod: &Pod| is_ready(pod) && container(pod)["restartCount"] == time;
            let pod = machine.pod("phoenix", "running again", is_back).await;
            machine.logged(&pod, &life).await;
            seconds.push((clock.monotonic() - begun).as_secs_f64());
        } else {
            let pod = machine.pod("phoenix", "running", is_ready).await;
            machine.logged(&pod, &life).await;
        }
        assert!(is_running(&life));
        machine.stop(time % 2 == 1).await;
        let ended = wait(async || Ok((!is_running(&life)).then_some(())));
        ended.await.unwrap_or_else(|error| panic!("stop {time}: {error}\n{}", machine.server.log()));
    }
    seconds.sort_unstable_by(f64::total_cmp);
    if let (Some(median), Some(most)) = (seconds.get(seconds.len() / 2), seconds.last()) {
        println!("{times} starts; running again after {median:.2} s (median), {most:.2} s (most)");
    }
}

#[tokio::test]
async fn providers_end_and_return_with_the_server() {
    survives("root", &[]).await;
}

#[tokio::test]
async fn providers_end_and_return_without_root() {
    // Without privileges, a namespace of processes needs a user namespace, which not every machine allows.
    let makes = std::process::Command::new("unshare")
        .args(["--user", "--pid", "--fork", "--mount", "--mount-proc", "true"])
        .status();
    if makes.is_ok_and(|status| status.success()) {
        survives("user", &["--container-isolation", "user"]).await;
    }
}

#[tokio::test]
async fn providers_end_and_return_without_isolation() {
    survives("alone", &["--container-isolation", "none"]).await;
}

impl Machine {
    /// Gives the Secret and the ConfigMap of the providers this content.
    async fn tell(&self, content: &str) {
        let parameters = PatchParams::apply("test").force();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"}, "stringData": {"key": content},
        });
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": {"key": content},
        });
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        secrets.patch("own", &parameters, &Patch::Apply(secret)).await.unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        maps.patch("map", &parameters, &Patch::Apply(map)).await.unwrap();
    }
}

#[tokio::test]
async fn each_start_finds_whole_volumes_and_is_one_start() {
    let mut machine = Machine::start_with_both(false, &[]).await;
    machine.tell("content-0").await;
    machine.make_webhook(image::PROGRAM_NAME).await;
    let mounted = json!({
        "container": {"volumeMounts": [{"name": "own", "mountPath": "/own"}, {"name": "map", "mountPath": "/map"}]},
        "spec": {"volumes": [
            {"name": "own", "secret": {"secretName": "own"}}, {"name": "map", "configMap": {"name": "map"}},
        ]},
    });
    for at in 0..PROVIDERS {
        machine.deploy(&format!("provider-{at}"), WHOLE, mounted.clone()).await;
    }
    let ((times, is_long), clock) = (times(), Clock::system());
    let mut seconds = Vec::new();
    let mut begun = clock.monotonic();
    for time in 0..times {
        machine.refuses().await;
        seconds.push(clock.monotonic() - begun);
        // A container that ended would have been started more often.
        let is_back = |pod: &Pod| is_ready(pod) && container(pod)["restartCount"] == time;
        for at in 0..PROVIDERS {
            let pod = machine.pod(&format!("provider-{at}"), "started once", is_back).await;
            machine.logged(&pod, &format!("whole content-{time} content-{time} end")).await;
        }
        machine.pod("hook", "started once", is_back).await;
        // The next start finds another content than this one has written.
        machine.tell(&format!("content-{}", time + 1)).await;
        machine.stop(time % 2 == 1).await;
        // What a server leaves that is killed while it removes a Pod.
        let left = machine.folder.path().join("data/pods/pods/of-a-deleted-pod");
        std::fs::create_dir_all(left.join("volumes/own")).unwrap();
        std::fs::write(left.join("volumes/own/key"), "secret").unwrap();
        machine.start_again().await;
        begun = clock.monotonic();
        wait(async || Ok((!left.exists()).then_some(()))).await.unwrap();
    }
    let longest = seconds.iter().skip(1).max().copied().unwrap_or_default();
    println!("{times} starts; the webhook answered {longest:.2?} after `serving` at the latest");
    assert!(!is_long || longest <= ANSWERED, "{seconds:?}");
}
