//! Tests of `metal3_handover`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use engine::Change;
use engine::object::annotation;
use metal::metal3_handover::{MOVES_WITH, NOWHERE, Plan, cluster_of, is_of_concern, plan};
use metal::names::{DETACHED, HANDED_OVER, PAUSED, PAUSED_BY_PROVIDER, POWER, STATUS, operational};
use metal::state::HostState;
use schemas::cluster::Cluster;
use schemas::hand_over::{HAND_OVER, MOVING, PAUSED_BY, READY};
use schemas::infrastructure::Metal3Machine;
use schemas::meta::ObjectReference;
use schemas::metal3::{BareMetalHost, BareMetalHostStatus, BmcDetails};
use schemas::names::CLUSTER_NAME;

fn host(power: Option<&str>, state: HostState) -> BareMetalHost {
    let mut host = BareMetalHost::default();
    host.metadata.name = Some("host-7".into());
    host.metadata.annotations = power.map(|power| [(POWER.to_owned(), power.to_owned())].into());
    if power.is_none() {
        host.spec.bmc = Some(BmcDetails {
            address: "ipmi://10.0.0.1".into(),
            credentials_name: "bmc".into(),
            ..BmcDetails::default()
        });
    }
    let status = host.status.get_or_insert_default();
    status.provisioning.state = state.name().into();
    status.provisioning.id = "an id".into();
    status.operational_status = operational::OK.into();
    status.last_updated = Some("2026-11-22T09:00:00Z".into());
    host.metadata.labels = Some([(CLUSTER_NAME.to_owned(), "c".to_owned())].into());
    host
}

fn cluster(is_moving: bool, is_paused: bool) -> Cluster {
    let mut cluster = Cluster::default();
    cluster.spec.paused = Some(is_paused);
    cluster.metadata.annotations = is_moving.then(|| [(MOVING.to_owned(), String::new())].into());
    cluster
}

fn moved(host: &BareMetalHost) -> BareMetalHost {
    let waiting = plan(host, &cluster(false, false)).unwrap().host;
    assert_eq!(&waiting, host, "at rest there is nothing that only a move needs");
    plan(&waiting, &cluster(true, true)).unwrap().host
}

#[test]
fn only_the_pause_and_the_move_of_a_cluster_concern_its_hosts() {
    let some = |is_moving: bool, is_paused: bool| Some(Arc::new(cluster(is_moving, is_paused)));
    let concerns = |old: Option<Arc<Cluster>>, new: Option<Arc<Cluster>>| is_of_concern(&Change { old, new });
    let mut status = cluster(false, false);
    status.status.get_or_insert_default().observed_generation = Some(2);
    assert!(!concerns(some(false, false), Some(Arc::new(status))));
    assert!(!concerns(some(true, true), some(true, true)));
    assert!(concerns(None, some(false, false)) && concerns(some(false, false), None));
    assert!(concerns(some(false, false), some(false, true)), "paused");
    assert!(concerns(some(false, true), some(true, true)), "moving");
}

#[test]
fn a_host_without_a_bmc_is_one_that_metal3_leaves_alone() {
    let before = host(Some("manual"), HostState::Provisioned);
    let there = moved(&before);
    let bmc = there.spec.bmc.clone().unwrap();
    assert_eq!((bmc.address.as_str(), bmc.credentials_name.as_str()), (NOWHERE, "host-7-without-bmc"));
    assert!(schemas::bmc_address::BmcAddress::parse(&bmc.address).is_ok());
    assert!(annotation(&there, DETACHED).is_some() && annotation(&there, POWER).is_none());
    assert_eq!(annotation(&there, PAUSED), Some(PAUSED_BY_PROVIDER));
    assert_eq!(annotation(&there, HAND_OVER), Some(READY));
    let told: BareMetalHostStatus = serde_json::from_str(annotation(&there, STATUS).unwrap()).unwrap();
    assert_eq!(
        (told.provisioning.state.as_str(), told.provisioning.id.as_str()),
        (HostState::Provisioned.name(), "")
    );
    assert_eq!(told.operational_status, operational::DETACHED);
    assert!(plan(&there, &cluster(true, true)).unwrap() == Plan { host: there.clone(), has_stand_in: true });

    // The target is active: everything that was added for the move is removed where our controllers run.
    let after = plan(&there, &cluster(false, false)).unwrap();
    assert!(!after.has_stand_in);
    assert_eq!(after.host.spec, before.spec);
    assert_eq!(after.host.metadata.annotations, before.metadata.annotations);
}

#[test]
fn a_host_with_a_bmc_takes_its_status_along() {
    let mut before = host(None, HostState::Provisioned);
    before.status.get_or_insert_default().operational_status = operational::SERVICING.into();
    let there = moved(&before);
    assert_eq!(there.spec, before.spec);
    assert_eq!(annotation(&there, DETACHED), None);
    let told: BareMetalHostStatus = serde_json::from_str(annotation(&there, STATUS).unwrap()).unwrap();
    assert_eq!((told.operational_status.as_str(), told.provisioning.id.as_str()), (operational::OK, "an id"));
    let after = plan(&there, &cluster(false, false)).unwrap();
    assert!(!after.has_stand_in && annotation(&after.host, PAUSED).is_none());
    assert_eq!(after.host.spec, before.spec);
}

#[test]
fn what_users_hold_stays_held() {
    let mut before = host(Some("wake-on-lan"), HostState::Provisioned);
    let annotations = before.metadata.annotations.get_or_insert_default();
    annotations.insert(PAUSED.into(), "me".into());
    annotations.insert(DETACHED.into(), "true".into());
    let there = moved(&before);
    let after = plan(&there, &cluster(false, false)).unwrap().host;
    assert_eq!(annotation(&there, PAUSED_BY), None, "the mover must not resume it");
    assert_eq!((annotation(&after, PAUSED), annotation(&after, DETACHED)), (Some("me"), Some("true")));
    assert_eq!(annotation(&after, POWER), Some("wake-on-lan"));
}

#[test]
fn the_mover_resumes_the_hosts_that_no_machine_resumes() {
    let mut before = host(None, HostState::Provisioned);
    assert_eq!(annotation(&moved(&before), PAUSED_BY), Some(PAUSED));
    before.spec.consumer_ref =
        Some(ObjectReference { kind: Some(Metal3Machine::KIND.to_owned()), ..ObjectReference::default() });
    let there = moved(&before);
    assert_eq!((annotation(&there, PAUSED), annotation(&there, PAUSED_BY)), (Some(PAUSED_BY_PROVIDER), None));
    // After a roll-back, nothing is left of it.
    before.spec.consumer_ref = None;
    let after = plan(&moved(&before), &cluster(false, false)).unwrap().host;
    assert_eq!((annotation(&after, PAUSED), annotation(&after, PAUSED_BY)), (None, None));
}

#[test]
fn a_host_of_no_cluster_moves_with_those_beside_it() {
    let mut spare = host(None, HostState::Available);
    spare.metadata.labels = None;
    let named = |name: &str, is_moving: bool| {
        let mut cluster = cluster(is_moving, is_moving);
        cluster.metadata.name = Some(name.into());
        Arc::new(cluster)
    };
    let found = |host: &BareMetalHost, clusters: Vec<Arc<Cluster>>| {
        cluster_of(host, clusters).and_then(|cluster| cluster.metadata.name.clone())
    };
    assert_eq!(found(&spare, vec![]), None);
    assert_eq!(found(&spare, vec![named("a", false), named("b", true)]).as_deref(), Some("b"));
    let there = plan(&spare, &named("b", true)).unwrap().host;
    assert_eq!(annotation(&there, PAUSED), Some(PAUSED_BY_PROVIDER));
    // At the target, only the Cluster with which the host came makes it active again.
    assert_eq!(found(&there, vec![named("a", false)]), None);
    assert_eq!(found(&there, vec![named("a", false), named("b", false)]).as_deref(), Some("b"));
    let mut lost = spare.clone();
    lost.metadata.labels = Some([(CLUSTER_NAME.to_owned(), "gone".to_owned())].into());
    assert_eq!(found(&lost, vec![named("a", false)]), None);
    assert_eq!(found(&lost, vec![named("a", false), named("b", true)]).as_deref(), Some("b"));
    let after = plan(&there, &named("b", false)).unwrap().host;
    assert!(annotation(&after, PAUSED).is_none() && annotation(&after, MOVES_WITH).is_none());
    // A status that was not copied is still in the annotation.
    let mut bare = there;
    bare.status = None;
    let waits = plan(&bare, &named("b", false)).unwrap().host;
    assert!(annotation(&waits, STATUS).is_some() && annotation(&waits, HANDED_OVER).is_some());
    assert_eq!(annotation(&waits, PAUSED), None);
}

#[test]
fn while_a_cluster_is_paused_nothing_is_taken_back() {
    let there = moved(&host(Some("manual"), HostState::Provisioned));
    assert_eq!(plan(&there, &cluster(false, true)).unwrap().host, there);
}
