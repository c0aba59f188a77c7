//! A runtime extension, as the client of extensions sees it: it answers what a test wants, and records what it was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use engine::NamespacedName;
use engine::names::CONTROL_PLANE;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::random::Random;
use parking_lot::Mutex;
use runtime_extensions::{Call, Caller, Reply};
use schemas::HasConditions;
use schemas::runtime::ExtensionConfig;
use serde_json::{Value, json};
use simulated::workload::part::Part;
use simulation::simulation::{Life, Simulation};

use super::life::{objects, until};

/// The hooks of an upgrade.
pub const UPGRADE: [&str; 6] = [
    "BeforeClusterUpgrade",
    "BeforeControlPlaneUpgrade",
    "AfterControlPlaneUpgrade",
    "BeforeWorkersUpgrade",
    "AfterWorkersUpgrade",
    "AfterClusterUpgrade",
];
/// The seconds after which a hook that is held wants to be asked again.
pub const HOLD_SECONDS: u64 = 120;
const VERSION: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";
const CONFIG: &str = "
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata: {name: ext}
spec: {clientConfig: {url: 'https://extension.test'}}
";

/// What the extension was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The hook.
    pub hook: String,
    /// The request.
    pub request: Value,
    /// Whether the answer holds up nothing.
    pub is_accepted: bool,
}

impl Asked {
    /// The hook, and the version to which it belongs; empty for hooks without one.
    pub fn step(&self) -> (String, String) {
        (self.hook.clone(), version_of(&self.request))
    }

    /// The hooks that are pending, as the annotation of the Cluster says it.
    pub fn pending(&self) -> String {
        let annotations = &self.request["cluster"]["metadata"]["annotations"];
        annotations["runtime.cluster.x-k8s.io/pending-hooks"].as_str().unwrap_or_default().to_owned()
    }
}

fn version_of(request: &Value) -> String {
    let version = request["toKubernetesVersion"].as_str().or(request["kubernetesVersion"].as_str());
    version.unwrap_or_default().to_owned()
}

/// Returns whether an answer to the hook can say to wait.
fn can_hold(hook: &str) -> bool {
    hook == "UpdateMachine"
        || hook != "AfterControlPlaneInitialized" && (hook.starts_with("Before") || hook.starts_with("After"))
}

type Answer = Box<dyn FnMut(&Value) -> Value + Send>;

#[derive(Default)]
struct State {
    hooks: Vec<&'static str>,
    answers: BTreeMap<&'static str, Answer>,
    asked: Vec<Asked>,
    /// Whether each hook says to wait until it is released for its version.
    holds: bool,
    released: BTreeSet<(String, String)>,
    failures: Option<Random>,
    /// The machines that it updates.
    workloads: Option<simulated::Backend>,
}

/// The extension with the ExtensionConfig `ext`; its handlers have the names of their hooks in lower case. Clones are the same.
#[derive(Clone, Default)]
pub struct Extension(Arc<Mutex<State>>);

impl Extension {
    /// An extension with a handler for each of these hooks, which has nothing against anything.
    pub fn new(hooks: &[&'static str]) -> Self {
        let extension = Self::default();
        extension.0.lock().hooks = hooks.to_vec();
        extension
    }

    /// A simulation with this extension.
    pub fn simulation(&self, seed: u64) -> Simulation {
        Simulation::new(seed).with_extensions(Arc::new(self.clone()))
    }

    /// Registers the extension, and waits until its handlers are known.
    pub async fn register(&self, life: &Life) -> Result<()> {
        let config = parse("extension.yaml", CONFIG)?;
        apply_all(&life.plane.registry, &life.plane.client("user"), &config).await?;
        until(life, |life| {
            let all = objects::<ExtensionConfig>(life).all();
            let is_discovered = all.iter().any(|config| config.condition_is_true("Discovered"));
            if is_discovered { Vec::new() } else { vec![format!("{all:?}")] }
        })
        .await
        .context("the handlers")
    }

    /// Answers a hook from now on with this.
    pub fn answer(&self, hook: &'static str, answer: impl FnMut(&Value) -> Value + Send + 'static) {
        self.0.lock().answers.insert(hook, Box::new(answer));
    }

    /// Says to wait at each hook of a Cluster's life until it is released.
    pub fn hold(&self) {
        self.0.lock().holds = true;
    }

    /// Says yes to a hook for a version from now on.
    pub fn release(&self, hook: &str, version: &str) {
        self.0.lock().released.insert((hook.to_owned(), version.to_owned()));
    }

    /// Changes machines of this life when it is asked to.
    pub fn update_machines_of(&self, life: &Life) {
        self.0.lock().workloads.clone_from(&life.workloads);
    }

    /// Fails about half of all calls in different ways.
    pub fn fail_half(&self, seed: u64) {
        self.0.lock().failures = Some(Random::seeded(seed));
    }

    /// Returns what was asked since it was forgotten.
    pub fn asked(&self) -> Vec<Asked> {
        self.0.lock().asked.clone()
    }

    /// Returns how often a hook was asked.
    pub fn count(&self, hook: &str) -> usize {
        self.0.lock().asked.iter().filter(|asked| asked.hook == hook).count()
    }

    /// Forgets what was asked.
    pub fn forget(&self) {
        self.0.lock().asked.clear();
    }

    /// Returns the hooks with their versions in the order in which they were first asked, or first accepted.
    pub fn steps(&self, only_accepted: bool) -> Vec<(String, String)> {
        let mut steps = Vec::new();
        for asked in self.asked().iter().filter(|asked| asked.is_accepted || !only_accepted) {
            if !steps.contains(&asked.step()) {
                steps.push(asked.step());
            }
        }
        steps
    }
}

impl State {
    fn reply(&mut self, body: &[u8]) -> Result<Reply, String> {
        let request: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let hook = request["kind"].as_str().unwrap_or_default().trim_end_matches("Request").to_owned();
        let failure = self.failures.as_ref().map(Random::number).filter(|number| number % 2 == 0);
        let answer = match failure.map(|number| number / 2 % 4) {
            None => Some((200, self.answer(&hook, &request))),
            Some(0) => None,
            Some(1) => Some((500, json!({}))),
            Some(2) if can_hold(&hook) => Some((200, json!({"status": "Success", "retryAfterSeconds": 7}))),
            Some(_) => Some((200, json!({"status": "Failure", "message": "out of luck"}))),
        };
        let accepted = answer.as_ref().filter(|(code, _)| *code == 200).map(|(_, answer)| answer);
        let is_accepted = accepted
            .is_some_and(|answer| answer["status"] == "Success" && answer["retryAfterSeconds"].is_null());
        if hook != "Discovery" {
            self.asked.push(Asked { hook, request, is_accepted });
        }
        let (code, answer) = answer.ok_or("the connection was refused")?;
        Ok(Reply { code, body: Bytes::from(answer.to_string()) })
    }

    fn answer(&mut self, hook: &str, request: &Value) -> Value {
        if hook == "Discovery" {
            return json!({"status": "Success", "handlers": self.handlers()});
        }
        if let Some(answer) = self.answers.get_mut(hook) {
            return answer(request);
        }
        let step = (hook.to_owned(), version_of(request));
        if self.holds && can_hold(hook) && !self.released.contains(&step) {
            return json!({"status": "Success", "message": "not yet", "retryAfterSeconds": HOLD_SECONDS});
        }
        json!({"status": "Success"})
    }

    fn handlers(&self) -> Vec<Value> {
        let handler = |hook: &&str| json!({"name": hook.to_lowercase(), "requestHook": {"apiVersion": VERSION, "hook": hook}});
        self.hooks.iter().map(handler).collect()
    }
}

/// Brings the parts of a machine to the version that a request wants.
async fn update(workloads: &simulated::Backend, request: &Value) -> Result<(), String> {
    let machine = &request["desired"]["machine"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cluster =
        NamespacedName::new(text(&machine["metadata"]["namespace"]), text(&machine["spec"]["clusterName"]));
    let workload = workloads.get(&cluster).await.ok_or("the cluster does not run")?;
    let control_plane = !machine["metadata"]["labels"][CONTROL_PLANE].is_null();
    let parts: &[Part] =
        if control_plane { &[Part::Etcd, Part::ApiServer, Part::Node] } else { &[Part::Node] };
    for part in parts {
        let name = text(&machine["metadata"]["name"]);
        let updated = workload.update(&name, *part, &text(&machine["spec"]["version"])).await;
        updated.map_err(|error| error.to_string())?;
    }
    Ok(())
}

impl Caller for Extension {
    fn post(&self, call: Call) -> BoxFuture<'_, Result<Reply, String>> {
        let (reply, workloads, last) = {
            let mut state = self.0.lock();
            let reply = state.reply(&call.body);
            let last = state.asked.last().cloned();
            (reply, state.workloads.clone(), last)
        };
        async move {
            let done = last.filter(|last| last.hook == "UpdateMachine" && last.is_accepted);
            if let (Some(workloads), Some(asked), Ok(_)) = (&workloads, done, &reply) {
                update(workloads, &asked.request).await?;
            }
            reply
        }
        .boxed()
    }
}
