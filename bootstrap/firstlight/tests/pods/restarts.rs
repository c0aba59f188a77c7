//! A server that is stopped and started again with its providers.

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
        (self.server, self.client) = Self::serve(self.folder.path(), &self.options).await;
    }
}

/// A provider with a child that outlives its parent. Both have the name of the test in their arguments.
fn script(name: &str) -> String {
    format!(
        "(trap '' HUP; (while true; do sleep 1; done) &) ; echo life-of-{name}; while true; do sleep 1; done"
    )
}

async fn survives(name: &str, options: &[&str]) {
    let (script, life) = (script(name), format!("life-of-{name}"));
    let times = std::env::var("POD_RESTARTS").ok().and_then(|times| times.parse().ok()).unwrap_or(RESTARTS);
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
