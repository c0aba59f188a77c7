//! The objects that the rules look at, and what they have to remember of the past.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::object::{
    CONTROL_PLANE, DEPLOYMENT, amount, annotation, cluster_key, label, namespace, object_key,
};

/// Controllers may act on what was demanded this long ago: a reconcile that has begun ends with what it has read.
pub const LAG: TimeDelta = TimeDelta::seconds(30);
/// A failure that began less than this long ago may not have been noticed yet.
const NOTICED: TimeDelta = TimeDelta::seconds(45);
/// For this long after a failure has ended, its consequences are still expected.
pub const AFTERMATH: TimeDelta = TimeDelta::minutes(5);

/// Prefix of the keys of Machines.
pub const MACHINES: &str = "/registry/cluster.x-k8s.io/machines/";
/// Prefix of the annotations that let a machine fail.
const FAILURES: &str = "simulated.firstlight.dev/";
/// Those that take an etcd member away.
const WITHOUT_MEMBER: [&str; 2] =
    ["simulated.firstlight.dev/kubelet-stopped", "simulated.firstlight.dev/etcd-member-unhealthy"];

/// The demands of an owner of Machines at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Demand {
    time: DateTime<Utc>,
    replicas: i64,
    surge: i64,
    unavailable: i64,
}

/// What an owner has demanded, oldest first.
#[derive(Debug, Default)]
struct Demands {
    /// Namespace and name of the Cluster.
    cluster: Option<String>,
    list: Vec<Demand>,
}

/// When a machine was broken.
#[derive(Debug, Clone, Copy, Default)]
struct Sickness {
    /// When it recovered; `None` while it is broken.
    until: Option<DateTime<Utc>>,
    /// Since when its etcd member is of no use.
    member_is_down: Option<DateTime<Utc>>,
}

/// A change of an object.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    /// The key of the object.
    pub key: &'a str,
    /// The object before the change; `None` if it is new.
    pub old: Option<&'a Value>,
    /// The object after the change; `None` if it is gone.
    pub new: Option<&'a Value>,
}

/// All current objects, and the recent past.
#[derive(Default)]
pub struct View {
    objects: BTreeMap<String, Value>,
    now: DateTime<Utc>,
    deleted: BTreeSet<String>,
    demands: BTreeMap<String, Demands>,
    /// How much longer than usual changes remain unnoticed, because events are lost.
    delay: TimeDelta,
    /// By namespace and name of the DevMachine, which are those of its Machine.
    sick: BTreeMap<String, Sickness>,
    /// Since when Machines have had a Node, by namespace and name.
    nodes: BTreeMap<String, DateTime<Utc>>,
    /// When Clusters were paused and resumed, by namespace and name.
    paused: BTreeMap<String, (DateTime<Utc>, Option<DateTime<Utc>>)>,
    disturbed: BTreeMap<String, DateTime<Utc>>,
}

impl View {
    /// Records an object, and what is to be remembered of it. Returns its last state.
    pub(super) fn record(&mut self, now: DateTime<Utc>, key: &str, object: Option<Value>) -> Option<Value> {
        self.now = now;
        let Some(object) = object else {
            return self.objects.remove(key);
        };
        match object["kind"].as_str() {
            Some("MachineDeployment" | "KubeadmControlPlane" | "MachineSet") => self.demand(key, &object),
            Some("Machine") => self.join(&object),
            Some("DevMachine") => self.ail(&object),
            Some("Cluster") => self.pause(&object),
            _ => {}
        }
        self.objects.insert(key.to_owned(), object)
    }

    fn demand(&mut self, key: &str, object: &Value) {
        let spec = &object["spec"];
        let Some(replicas) = spec["replicas"].as_i64() else { return };
        let is_control_plane = object["kind"] == "KubeadmControlPlane";
        let of_workers = &spec["rollout"]["strategy"]["rollingUpdate"];
        let strategy = if is_control_plane { &Value::Null } else { of_workers };
        let surge = amount(&strategy["maxSurge"], replicas, 1, true);
        let unavailable = amount(&strategy["maxUnavailable"], replicas, 0, false);
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        let demand = Demand { time: self.now, replicas, surge, unavailable };
        let demands = self.demands.entry(key.to_owned()).or_default();
        demands.cluster = cluster_key(object);
        if demands.list.last().is_none_or(|last| Demand { time: self.now, ..*last } != demand) {
            demands.list.push(demand);
        }
    }

    fn join(&mut self, machine: &Value) {
        let key = object_key(machine);
        if machine["status"]["nodeRef"].is_object() {
            self.nodes.entry(key).or_insert(self.now);
        } else {
            self.nodes.remove(&key);
        }
    }

    fn ail(&mut self, machine: &Value) {
        let key = object_key(machine);
        let annotations = machine["metadata"]["annotations"].as_object();
        let is_sick = annotations.is_some_and(|all| all.keys().any(|key| key.starts_with(FAILURES)));
        let is_down = WITHOUT_MEMBER.iter().any(|failure| annotation(machine, failure).is_some());
        if is_sick {
            let sickness = self.sick.entry(key).or_default();
            sickness.until = None;
            sickness.member_is_down = is_down.then(|| sickness.member_is_down.unwrap_or(self.now));
        } else if let Some(sickness) = self.sick.get_mut(&key).filter(|sickness| sickness.until.is_none()) {
            *sickness = Sickness { until: Some(self.now), member_is_down: None };
        }
    }

    fn pause(&mut self, cluster: &Value) {
        let key = object_key(cluster);
        if cluster["spec"]["paused"] == true {
            let since = self.paused.get(&key).filter(|(_, until)| until.is_none()).map(|(since, _)| *since);
            self.paused.insert(key, (since.unwrap_or(self.now), None));
        } else if let Some((_, until @ None)) = self.paused.get_mut(&key) {
            *until = Some(self.now);
        }
    }

    pub(super) fn user_deletes(&mut self, key: &str) {
        self.deleted.insert(key.to_owned());
    }

    pub(super) fn disturb(&mut self, cluster: &str, until: DateTime<Utc>) {
        self.disturbed.insert(cluster.to_owned(), until);
    }

    pub(super) fn expect_delay(&mut self, delay: TimeDelta) {
        self.delay = delay;
    }

    /// Returns how much longer than usual changes remain unnoticed.
    pub fn delay(&self) -> TimeDelta {
        self.delay
    }

    /// Returns the time of the last change.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Returns the keys of the objects that the user has deleted, and that may still be there.
    pub fn deleted(&self) -> &BTreeSet<String> {
        &self.deleted
    }

    /// Returns the object with this key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.objects.get(key)
    }

    /// Returns all objects with their keys.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.objects.iter().map(|(key, object)| (key.as_str(), object))
    }

    /// Returns the objects whose keys have this prefix.
    pub fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let from = self.objects.range(prefix.to_owned()..);
        from.take_while(move |(key, _)| key.starts_with(prefix)).map(|(key, object)| (key.as_str(), object))
    }

    /// Returns the Machines of a namespace for which `has` holds.
    pub fn machines<'a>(
        &'a self,
        like: &Value,
        has: impl Fn(&Value) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let namespace = namespace(like).to_owned();
        self.below(MACHINES).filter(move |(_, machine)| self::namespace(machine) == namespace && has(machine))
    }

    /// Returns key and object of the MachineDeployment or control plane that a Machine or MachineSet belongs to.
    pub fn owner(&self, machine: &Value) -> Option<(String, &Value)> {
        let key = match (label(machine, DEPLOYMENT), label(machine, CONTROL_PLANE)) {
            (Some(deployment), _) => {
                format!("/registry/cluster.x-k8s.io/machinedeployments/{}/{deployment}", namespace(machine))
            }
            (None, Some(control_plane)) => format!(
                "/registry/controlplane.cluster.x-k8s.io/kubeadmcontrolplanes/{}/{control_plane}",
                namespace(machine)
            ),
            (None, None) => return None,
        };
        let owner = self.get(&key)?;
        Some((key, owner))
    }

    /// Returns the Cluster that an object belongs to.
    pub fn cluster(&self, object: &Value) -> Option<&Value> {
        self.get(&format!("/registry/cluster.x-k8s.io/clusters/{}", cluster_key(object)?))
    }

    /// Returns the demands of an owner that its controllers may still act on. While a cluster is paused, they stay with what they have
    /// demanded before.
    fn recent(&self, owner: &str) -> &[Demand] {
        let Some(demands) = self.demands.get(owner) else { return &[] };
        let paused = demands.cluster.as_ref().and_then(|cluster| self.paused.get(cluster));
        let is_over = |next: &Demand| match paused {
            Some((_, None)) => false,
            Some((_, Some(resumed))) => next.time.max(*resumed) + LAG + self.delay < self.now,
            None => next.time + LAG + self.delay < self.now,
        };
        let over = demands.list.iter().skip(1).take_while(|next| is_over(next)).count();
        &demands.list[over..]
    }

    /// Returns the most Machines that an owner has demanded lately, with its surge.
    pub fn most(&self, owner: &str) -> Option<i64> {
        self.recent(owner).iter().map(|demand| demand.replicas + demand.surge).max()
    }

    /// Returns the most replicas that an owner has demanded lately.
    pub fn most_replicas(&self, owner: &str) -> Option<i64> {
        self.recent(owner).iter().map(|demand| demand.replicas).max()
    }

    /// Returns the fewest replicas that an owner has demanded lately.
    pub fn fewest_replicas(&self, owner: &str) -> Option<i64> {
        self.recent(owner).iter().map(|demand| demand.replicas).min()
    }

    /// Returns the fewest available Machines that an owner has tolerated lately.
    pub fn fewest_available(&self, owner: &str) -> Option<i64> {
        self.recent(owner).iter().map(|demand| demand.replicas - demand.unavailable).min()
    }

    /// Returns whether the demands of an owner changed lately.
    pub fn changed_lately(&self, owner: &str) -> bool {
        self.recent(owner).len() > 1
    }

    /// Returns whether the etcd member of a machine has been down for so long that everybody has noticed it.
    pub fn is_member_known_to_be_down(&self, machine: &Value) -> bool {
        let sickness = self.sick.get(&object_key(machine));
        let since = sickness.and_then(|sickness| sickness.member_is_down);
        since.is_some_and(|since| since + NOTICED + self.delay < self.now)
    }

    /// Returns since when a Machine has a Node.
    pub fn has_node_since(&self, machine: &Value) -> Option<DateTime<Utc>> {
        self.nodes.get(&object_key(machine)).copied()
    }

    /// Returns whether a machine is broken, or was it lately.
    pub fn was_sick_lately(&self, machine: &Value) -> bool {
        let sickness = self.sick.get(&object_key(machine));
        sickness.is_some_and(|sickness| sickness.until.is_none_or(|until| until + AFTERMATH > self.now))
    }

    /// Returns since when the cluster of an object is paused.
    pub fn is_paused_since(&self, object: &Value) -> Option<DateTime<Utc>> {
        let (since, until) = self.paused.get(&cluster_key(object)?)?;
        until.is_none().then_some(*since)
    }

    /// Returns whether the machines of an object's cluster are disturbed, or were it lately.
    pub fn is_disturbed(&self, object: &Value) -> bool {
        let cluster = cluster_key(object);
        cluster.is_some_and(|cluster| self.disturbed.get(&cluster).is_some_and(|until| *until > self.now))
    }
}
