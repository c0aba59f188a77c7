//! Checks continuously whether a server answers while it is attacked.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::caller::{Ask, Caller};

/// The worst results so far.
#[derive(Default, Clone)]
pub struct Worst {
    /// The longest response time.
    pub time: Duration,
    /// The attack during which it occurred.
    pub during: String,
    /// Requests without a response, or with a status other than 200.
    pub failures: Vec<String>,
    /// Number of requests.
    pub beats: usize,
}

/// Requests a path repeatedly until it is dropped.
pub struct Pulse {
    state: Arc<Mutex<(Worst, Vec<String>)>>,
    task: JoinHandle<()>,
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pulse {
    /// Requests `path` as `caller`, over a new connection each time if `is_new_each_time`.
    pub fn start(caller: Caller, path: &'static str, every: Duration, is_new_each_time: bool) -> Self {
        let state: Arc<Mutex<(Worst, Vec<String>)>> = Arc::default();
        let shared = state.clone();
        let task = tokio::spawn(async move {
            let clock = Clock::system();
            let mut kept = caller.clone();
            loop {
                let asked = clock.monotonic();
                let before = shared.lock().1.join(", ");
                let ask = Ask::new(Method::GET, path);
                let outcome =
                    if is_new_each_time { caller.clone().send(&ask).await } else { kept.send(&ask).await };
                let time = asked.elapsed();
                {
                    let mut state = shared.lock();
                    let now = state.1.join(", ");
                    let worst = &mut state.0;
                    worst.beats += 1;
                    if time > worst.time {
                        worst.time = time;
                        worst.during = if before == now { now } else { format!("{before} … {now}") };
                    }
                    match outcome {
                        Ok(answer) if answer.code == 200 => {}
                        Ok(answer) => worst.failures.push(format!("{}", answer.code)),
                        Err(error) => worst.failures.push(format!("{error:#}")),
                    }
                }
                clock.sleep(every).await;
            }
        });
        Self { state, task }
    }

    /// Records that the attack `what` begins.
    pub fn begins(&self, what: &str) {
        self.state.lock().1.push(what.to_owned());
    }

    /// Records that the attack `what` ends.
    pub fn ends(&self, what: &str) {
        let running = &mut self.state.lock().1;
        if let Some(at) = running.iter().position(|one| one == what) {
            running.swap_remove(at);
        }
    }

    /// Returns the worst results so far.
    pub fn worst(&self) -> Worst {
        self.state.lock().0.clone()
    }
}
