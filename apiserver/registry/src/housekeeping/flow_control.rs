//! The FlowSchemas and PriorityLevelConfigurations that every cluster has. This server is fair in its own way, and does not follow them.

use futures::future::join_all;
use kinds::Subresource;
use machinery::status::Status;
use serde_json::{Value, json};

use crate::context::{Context, Input, PatchBody};
use crate::verbs;
use crate::versions::definitions::Served;
use crate::write::writes::Writes;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// A level: name, shares, the part of them that can be lent in percent, and the number of queues with the size of a hand. Without queues,
/// requests are rejected.
type Level = (&'static str, u32, u32, Option<(u32, u32)>);

const LEVELS: [Level; 7] = [
    ("catch-all", 5, 0, None),
    ("system", 30, 33, Some((64, 6))),
    ("node-high", 40, 25, Some((64, 6))),
    ("leader-election", 10, 0, Some((16, 4))),
    ("workload-high", 40, 50, Some((128, 6))),
    ("workload-low", 100, 90, Some((128, 6))),
    ("global-default", 20, 50, Some((128, 6))),
];

/// The level whose requests never wait.
const EXEMPT: &str = "exempt";

/// What a FlowSchema is about.
enum Rules {
    All,
    Probes,
    Leases,
    Nodes,
}

/// A FlowSchema: name, level, precedence, what distinguishes its flows, the kind of its subjects with their names, and its rules.
type Schema = (&'static str, &'static str, u32, &'static str, &'static [(&'static str, &'static str)], Rules);

const EVERYBODY: &[(&str, &str)] = &[("Group", "system:unauthenticated"), ("Group", "system:authenticated")];
const NODES: &[(&str, &str)] = &[("Group", "system:nodes")];
const MANAGER: (&str, &str) = ("User", "system:kube-controller-manager");
const SCHEDULER: (&str, &str) = ("User", "system:kube-scheduler");
const SYSTEM_ACCOUNTS: (&str, &str) = ("ServiceAccount", "*");

const SCHEMAS: [Schema; 11] = [
    ("exempt", EXEMPT, 1, "", &[("Group", "system:masters")], Rules::All),
    ("catch-all", "catch-all", 10_000, "ByUser", EVERYBODY, Rules::All),
    ("probes", EXEMPT, 2, "", EVERYBODY, Rules::Probes),
    (
        "system-leader-election",
        "leader-election",
        100,
        "ByUser",
        &[MANAGER, SCHEDULER, SYSTEM_ACCOUNTS],
        Rules::Leases,
    ),
    ("system-node-high", "node-high", 400, "ByUser", NODES, Rules::Nodes),
    ("system-nodes", "system", 500, "ByUser", NODES, Rules::All),
    ("kube-controller-manager", "workload-high", 800, "ByNamespace", &[MANAGER], Rules::All),
    ("kube-scheduler", "workload-high", 800, "ByNamespace", &[SCHEDULER], Rules::All),
    ("kube-system-service-accounts", "workload-high", 900, "ByNamespace", &[SYSTEM_ACCOUNTS], Rules::All),
    ("service-accounts", "workload-low", 9000, "ByUser", &[("Group", "system:serviceaccounts")], Rules::All),
    ("global-default", "global-default", 9900, "ByUser", EVERYBODY, Rules::All),
];

/// Creates the objects that are missing.
pub(crate) async fn create(writes: &Writes) {
    let served = |plural: &str| writes.versions().served(GROUP, "v1", plural);
    let (Some(levels), Some(schemas)) = (served("prioritylevelconfigurations"), served("flowschemas")) else {
        return;
    };
    let exempt = (
        EXEMPT,
        json!({"type": "Exempt",
        "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}),
    );
    let limited = LEVELS.iter().map(|level| (level.0, self::level(level)));
    join_all(
        std::iter::once(exempt)
            .chain(limited)
            .map(|(name, spec)| ensure(writes, &levels, "PriorityLevelConfiguration", name, spec, None)),
    )
    .await;
    join_all(SCHEMAS.iter().map(|schema| {
        let message = format!(
            "This FlowSchema references the PriorityLevelConfiguration object named {:?} and it exists",
            schema.1
        );
        let condition = json!({"type": "Dangling", "status": "False", "lastTransitionTime": writes.now(),
            "reason": "Found", "message": message});
        let status = json!({"status": {"conditions": [condition]}});
        ensure(writes, &schemas, "FlowSchema", schema.0, spec(schema), Some(status))
    }))
    .await;
}

fn level((_, shares, lendable, queues): &Level) -> Value {
    let response = match queues {
        None => json!({"type": "Reject"}),
        Some((queues, hand)) => json!({"type": "Queue",
            "queuing": {"queues": queues, "handSize": hand, "queueLengthLimit": 50}}),
    };
    json!({"type": "Limited", "limited": {
        "nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response}})
}

fn spec((_, level, precedence, by, subjects, rules): &Schema) -> Value {
    let subjects: Vec<Value> = subjects
        .iter()
        .map(|(kind, name)| match *kind {
            "User" => json!({"kind": kind, "user": {"name": name}}),
            "Group" => json!({"kind": kind, "group": {"name": name}}),
            _ => json!({"kind": kind, "serviceAccount": {"namespace": "kube-system", "name": name}}),
        })
        .collect();
    let resources = |verbs: &[&str], group: &str, resources: &[&str], cluster: bool| {
        let mut rule =
            json!({"verbs": verbs, "apiGroups": [group], "resources": resources, "namespaces": ["*"]});
        if cluster {
            rule["clusterScope"] = true.into();
        }
        rule
    };
    let paths = |verb: &str, paths: &[&str]| json!([{"verbs": [verb], "nonResourceURLs": paths}]);
    const LEASES: &str = "coordination.k8s.io";
    let mut rule = match rules {
        Rules::All => json!({"resourceRules": [resources(&["*"], "*", &["*"], true)],
            "nonResourceRules": paths("*", &["*"])}),
        Rules::Probes => json!({"nonResourceRules": paths("get", &["/healthz", "/readyz", "/livez"])}),
        Rules::Leases => {
            json!({"resourceRules": [resources(&["get", "create", "update"], LEASES, &["leases"], false)]})
        }
        Rules::Nodes => json!({"resourceRules": [
            resources(&["*"], "", &["nodes", "nodes/status"], true),
            resources(&["*"], LEASES, &["leases"], false)]}),
    };
    rule["subjects"] = subjects.into();
    let mut spec = json!({"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence,
        "rules": [rule]});
    if !by.is_empty() {
        spec["distinguisherMethod"] = json!({"type": by});
    }
    spec
}

/// Creates an object if it is missing, and then gives it its status.
async fn ensure(
    writes: &Writes,
    served: &Served,
    kind: &str,
    name: &str,
    spec: Value,
    status: Option<Value>,
) {
    let key = crate::storage::keys::object(&served.definition, "", name);
    if writes.storage().get(&key).is_some() {
        return;
    }
    let object = json!({"apiVersion": served.api_version(), "kind": kind, "spec": spec,
        "metadata": {"name": name, "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"}}});
    let mut context = Context::start("api-priority-and-fairness-config-producer-v1");
    let done = async {
        verbs::create(writes, &mut context, served, "", Input::new(object)).await?;
        if let Some(status) = status {
            let patch = PatchBody::Merge(status.to_string().into());
            let mut context = Context::start("api-priority-and-fairness-config-consumer-v1");
            verbs::patch(writes, &mut context, served, "", name, Subresource::Status, patch).await?;
        }
        Ok::<(), Status>(())
    };
    if let Err(status) = done.await
        && status.reason != "AlreadyExists"
    {
        tracing::error!(kind, name, %status, "an object of every cluster could not be created");
    }
}
