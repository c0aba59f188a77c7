//! Jobs of a simulated cluster: their Pods, how they end, and how often they try.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::controllers::{create, merge, phase, pods, spec};
use super::{Cluster, cluster};

fn job(name: &str, more: Value) -> Value {
    let mut spec = json!({"template": spec(json!({}))["template"]});
    spec["template"]["spec"]["restartPolicy"] = "Never".into();
    more.as_object().unwrap().iter().for_each(|(key, value)| spec[key] = value.clone());
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})
}

/// A job whose Pods no Node takes, so that none of them ends by itself.
async fn waiting(cluster: &Cluster, name: &str, more: Value) -> Api<Job> {
    cluster.start("a", 1).await;
    let mut object = job(name, more);
    object["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    create(cluster, object).await
}

async fn pass(cluster: &Cluster, seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    cluster.workload.settled().await;
}

fn conditions(status: &JobStatus) -> Vec<String> {
    let all = status.conditions.iter().flatten();
    all.map(|one| format!("{}={} {}", one.type_, one.status, one.reason.as_deref().unwrap())).collect()
}

async fn status(jobs: &Api<Job>, name: &str) -> JobStatus {
    jobs.get(name).await.unwrap().status.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_job_is_complete_after_its_completions_or_the_first_success() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    for (name, more, succeeded, indexes) in [
        ("plain", json!({"completions": 3, "parallelism": 2}), 3, None),
        (
            "numbered",
            json!({"completions": 3, "parallelism": 2, "completionMode": "Indexed"}),
            3,
            Some("0-2"),
        ),
        ("queue", json!({"parallelism": 2}), 2, None),
    ] {
        let jobs: Api<Job> = create(&cluster, job(name, more)).await;
        pass(&cluster, 5).await;
        let status = status(&jobs, name).await;
        assert_eq!((status.succeeded, status.active), (Some(succeeded), None), "{name}");
        let expected = ["SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"];
        assert_eq!(conditions(&status), expected, "{name}");
        assert_eq!(status.completed_indexes.as_deref(), indexes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_is_suspended_and_resumed() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let jobs: Api<Job> = create(&cluster, job("held", json!({"suspend": true, "completions": 1}))).await;
    let held = status(&jobs, "held").await;
    assert_eq!(conditions(&held), ["Suspended=True JobSuspended"]);
    assert_eq!((held.start_time, pods(&cluster).await.len()), (None, 0));
    merge(&cluster, &jobs, "held", json!({"spec": {"suspend": false}})).await;
    pass(&cluster, 5).await;
    let over = status(&jobs, "held").await;
    assert_eq!(conditions(&over)[0], "Suspended=False JobResumed");
    assert_eq!((over.succeeded, over.start_time.is_some(), conditions(&over).len()), (Some(1), true, 3));
}

/// The test sets the phase of each Pod to Failed.
#[tokio::test(start_paused = true)]
async fn a_job_waits_longer_after_each_failure_and_gives_up() {
    let cluster = cluster().await;
    let jobs = waiting(&cluster, "sick", json!({"backoffLimit": 2})).await;
    let all = Api::<Pod>::default_namespaced(cluster.client());
    let mut delays = Vec::new();
    for failures in 1..=3 {
        let now = pods(&cluster).await;
        let active = now.iter().find(|pod| phase(pod) == "Pending").unwrap();
        let failed = Patch::Merge(json!({"status": {"phase": "Failed"}}));
        all.patch_status(&active.name_any(), &PatchParams::default(), &failed).await.unwrap();
        let mut delay = 0;
        while failures < 3 && pods(&cluster).await.len() == failures {
            pass(&cluster, 1).await;
            delay += 1;
        }
        delays.push(delay);
    }
    assert!((9..=12).contains(&delays[0]) && (18..=22).contains(&delays[1]), "{delays:?}");
    pass(&cluster, 5).await;
    let over = status(&jobs, "sick").await;
    assert_eq!(
        conditions(&over),
        ["FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"]
    );
    assert_eq!((over.failed, over.completion_time), (Some(3), None));
    pass(&cluster, 3600).await;
    assert_eq!(pods(&cluster).await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_at_its_deadline() {
    let cluster = cluster().await;
    let jobs = waiting(&cluster, "late", json!({"activeDeadlineSeconds": 30})).await;
    assert_eq!(pods(&cluster).await.len(), 1);
    pass(&cluster, 40).await;
    let over = status(&jobs, "late").await;
    assert_eq!(conditions(&over), ["FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"]);
    assert_eq!(pods(&cluster).await.len(), 0);
}

/// Each of its Pods ends at once, and others follow for ever.
#[tokio::test(start_paused = true)]
async fn a_job_without_end_keeps_nobody_waiting_and_makes_few_pods() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let endless = job("endless", json!({"completions": 2_000_000_000, "parallelism": 2}));
    let jobs: Api<Job> = create(&cluster, endless).await;
    pass(&cluster, 20).await;
    let made = status(&jobs, "endless").await.succeeded.unwrap();
    assert!((20..=60).contains(&made), "{made} Pods in twenty seconds");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": spec(json!({"replicas": 2}))});
    let deployments: Api<Deployment> = create(&cluster, deployment).await;
    let ready = deployments.get("d").await.unwrap().status.unwrap().ready_replicas;
    assert_eq!(ready, Some(2));
    // A machine is started, too.
    cluster.start("b", 2).await;
    assert_eq!(Api::<Node>::all(cluster.client()).list(&ListParams::default()).await.unwrap().items.len(), 2);
}
