//! Tables over the plan of a template.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::NamespacedName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use metal_machines::data::names::{CLAIM_FINALIZER, TEMPLATE_FINALIZER};
use metal_machines::data::template::{Observed, Step, plan};
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3ObjectReference};

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn reference(name: &str) -> Option<Metal3ObjectReference> {
    Some(Metal3ObjectReference { name: Some(name.into()), namespace: None })
}

fn claim(name: &str) -> Metal3DataClaim {
    let mut claim = Metal3DataClaim::default();
    claim.metadata.name = Some(name.into());
    claim.metadata.namespace = Some("ns".into());
    claim.metadata.finalizers = Some(vec![CLAIM_FINALIZER.into()]);
    claim.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "infrastructure.cluster.x-k8s.io/v1beta1".into(),
        kind: "Metal3Machine".into(),
        name: format!("machine of {name}"),
        controller: Some(true),
        ..OwnerReference::default()
    }]);
    claim.spec.template = reference("t");
    claim
}

fn data(name: &str, template: &str, index: i32, claim: &str) -> Metal3Data {
    let mut data = Metal3Data::default();
    data.metadata.name = Some(name.into());
    data.metadata.namespace = Some("ns".into());
    data.metadata.finalizers = Some(vec![CLAIM_FINALIZER.into()]);
    data.spec.template = reference(template);
    data.spec.claim = reference(claim);
    data.spec.index = Some(index);
    data
}

fn deleting<K: kube::Resource>(mut object: K) -> K {
    object.meta_mut().deletion_timestamp = Some(engine::time::time(now()));
    object
}

fn observed(claims: Vec<Metal3DataClaim>, data: Vec<Metal3Data>) -> Observed {
    let mut template = Metal3DataTemplate::default();
    template.metadata.name = Some("t".into());
    template.metadata.namespace = Some("ns".into());
    template.metadata.finalizers = Some(vec![TEMPLATE_FINALIZER.into()]);
    Observed {
        name: NamespacedName::new("ns", "t"),
        template: Some(Arc::new(template)),
        claims: claims.into_iter().map(Arc::new).collect(),
        data: data.into_iter().map(Arc::new).collect(),
        ..Observed::default()
    }
}

fn steps(observed: &Observed) -> Vec<String> {
    let name = |data: &Metal3Data| data.metadata.name.clone().unwrap_or_default();
    let text = |step: &Step| match step {
        Step::Create(data) => format!("create {}", name(data)),
        Step::Settle(name) => format!("settle {name}"),
        Step::Refuse(message) => message.clone(),
        Step::Release(data) => format!("release {}", data.as_deref().map(name).unwrap_or_default()),
    };
    let plan = plan(observed, now());
    plan.steps
        .iter()
        .map(|(claim, step)| format!("{}: {}", claim.metadata.name.as_deref().unwrap(), text(step)))
        .collect()
}

#[test]
fn the_oldest_claim_gets_the_lowest_free_index() {
    let mut old = claim("z");
    old.metadata.creation_timestamp = Some(engine::time::time(now() - chrono::Duration::hours(1)));
    let mut young = claim("a");
    young.metadata.creation_timestamp = Some(engine::time::time(now()));
    let taken = vec![
        data("t-0", "t", 0, "x"),
        // An object of another template, and one with an unusual name.
        data("t-2", "other", 9, "y"),
        data("strange", "t", 3, "w"),
        deleting(data("t-5", "t", 5, "v")),
    ];
    let mut observed = observed(vec![young, old], taken);
    assert_eq!(steps(&observed), ["z: create t-1", "a: create t-4"]);
    observed.claims = (0..2).map(|number| Arc::new(claim(&format!("c{number}")))).collect();
    assert_eq!(steps(&observed), ["c0: create t-1", "c1: create t-4"]);
}

#[test]
fn created_data_have_their_owners_and_the_labels_of_the_claim() {
    let mut claim = claim("c");
    claim.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    let plan = plan(&observed(vec![claim], vec![]), now());
    let Some((_, Step::Create(made))) = plan.steps.first() else { panic!("{plan:?}") };
    let owners = made.metadata.owner_references.iter().flatten();
    let owners: Vec<_> = owners.map(|owner| (owner.kind.as_str(), owner.controller)).collect();
    assert_eq!(
        owners,
        [("Metal3DataTemplate", Some(true)), ("Metal3DataClaim", None), ("Metal3Machine", None)]
    );
    assert_eq!(made.metadata.labels.as_ref().unwrap()["a"], "b");
    let reference =
        |name: &str| Some(Metal3ObjectReference { name: Some(name.into()), namespace: Some("ns".into()) });
    assert_eq!(
        (&made.spec.claim, &made.spec.template, made.spec.index),
        (&reference("c"), &reference("t"), Some(0))
    );
}

#[test]
fn data_that_exist_are_settled_or_released() {
    let claims = vec![claim("a"), claim("b"), deleting(claim("c")), deleting(claim("d")), {
        let mut without = deleting(claim("e"));
        without.metadata.finalizers = Some(vec!["metal3machine".into()]);
        without
    }];
    let known = vec![
        data("t-0", "t", 0, "a"),
        deleting(data("t-1", "t", 1, "b")),
        data("t-2", "t", 2, "c"),
        deleting(data("t-3", "t", 3, "gone")),
    ];
    let mut observed = observed(claims, known);
    observed.without_claim = vec!["t-3".into()];
    assert_eq!(steps(&observed), ["a: settle t-0", "c: release t-2", "d: release "]);
    let orphans = plan(&observed, now()).orphans;
    assert_eq!(orphans.iter().filter_map(|data| data.metadata.name.as_deref()).collect::<Vec<_>>(), ["t-3"]);
    observed.template = None;
    assert_eq!(steps(&observed), ["a: settle t-0", "c: release t-2", "d: release "]);
}

#[test]
fn refusals_say_what_to_do() {
    let base = |change: fn(&mut Metal3DataTemplate)| {
        let mut observed = observed(vec![claim("a")], vec![]);
        let mut template = observed.template.as_deref().unwrap().clone();
        change(&mut template);
        observed.template = Some(Arc::new(template));
        observed
    };
    let none = Observed { template: None, ..base(|_| ()) };
    assert_eq!(steps(&none), ["a: there is no Metal3DataTemplate ns/t: create it"]);
    let gone = base(|template| template.metadata.deletion_timestamp = Some(engine::time::time(now())));
    assert_eq!(steps(&gone), ["a: Metal3DataTemplate ns/t is being deleted"]);
    assert_eq!(plan(&gone, now()).template.unwrap().metadata.finalizers, None);
    let mut waits = base(|template| template.spec.cluster_name = "c".into());
    assert!(steps(&waits)[0].contains("waits for Cluster ns/c of its spec.clusterName"));
    let mut cluster = Cluster::default();
    cluster.metadata.name = Some("c".into());
    waits.cluster = Some(Arc::new(cluster));
    assert_eq!(steps(&waits), ["a: create t-0"]);
    let mut lonely = claim("a");
    lonely.metadata.owner_references = None;
    assert!(steps(&observed(vec![lonely], vec![]))[0].contains("no owner reference to a Metal3Machine"));
    let mut there = claim("a");
    there.spec.template.as_mut().unwrap().namespace = Some("there".into());
    assert!(steps(&observed(vec![there], vec![]))[0].contains("a template is in the namespace of its claim"));
}

#[test]
fn the_status_lists_the_indexes_and_changes_with_them_only() {
    let known = vec![data("t-7", "t", 7, "b"), data("t-1", "t", 1, "a"), data("t-2", "other", 2, "c")];
    let mut observed = observed(vec![], known);
    let first = plan(&observed, now()).template.unwrap();
    let status = first.status.clone().unwrap();
    let listed: Vec<_> = status.indexes.iter().map(|index| (index.index, index.name.as_str())).collect();
    assert_eq!(listed, [(1, "a"), (7, "b")]);
    observed.template = Some(Arc::new(first.clone()));
    assert_eq!(plan(&observed, now() + chrono::Duration::hours(1)).template, Some(first));
}
