//! Tables over the plan of a Metal3Data.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use metal_machines::data::metal3_data::{Lease, Leased, Observed, Plan, plan};
use metal_machines::data::names::{CLAIM_FINALIZER, DATA_FINALIZER};
use metal_machines::data::pools::{PoolAddress, PoolReference};
use metal_machines::data::subject::Subject;
use schemas::infrastructure::{Metal3Data, Metal3DataTemplate, Metal3Machine};
use serde_json::{Value, json};

fn observed(template: Value, lease: Option<Lease>) -> Observed {
    let mut data = Metal3Data::default();
    data.metadata.name = Some("t-0".into());
    data.metadata.namespace = Some("ns".into());
    data.metadata.finalizers = Some(vec![CLAIM_FINALIZER.into(), DATA_FINALIZER.into()]);
    let mut machine = Metal3Machine::default();
    machine.metadata.name = Some("m".into());
    let mut made = Metal3DataTemplate::default();
    made.metadata.name = Some("t".into());
    made.spec = serde_json::from_value(template).unwrap();
    let machine = Arc::new(machine);
    let pool = PoolReference::new(None, None, "pool");
    Observed {
        data: Arc::new(data),
        template: Some(Arc::new(made)),
        has_claim: true,
        subject: Some(Subject { metal3_machine: machine.clone(), ..Subject::default() }),
        metal3_machine: Some(machine),
        missing_host: None,
        has_metadata: false,
        has_network_data: false,
        leases: Ok(lease
            .map(|lease| ("pool".to_owned(), Leased { pool, claim: "t-0-pool".to_owned(), lease }))
            .into_iter()
            .collect()),
    }
}

fn with_pool(lease: Lease) -> Observed {
    let template =
        json!({"metaData": {"ipAddressesFromPool": [{"key": "ip", "name": "pool"}]}, "networkData": {}});
    observed(template, Some(lease))
}

/// Returns whether the data are ready, and their error.
fn state(plan: &Plan) -> (bool, Option<&str>) {
    let status = plan.wanted.status.as_ref().unwrap();
    (status.ready == Some(true), status.error_message.as_deref())
}

fn secrets(plan: &Plan) -> Vec<&str> {
    plan.secrets.iter().filter_map(|secret| secret.metadata.name.as_deref()).collect()
}

#[test]
fn secrets_that_exist_are_never_rendered_again() {
    let given = Lease::Given(PoolAddress { address: "10.0.0.1".into(), ..PoolAddress::default() });
    let mut all = with_pool(given);
    assert_eq!(secrets(&plan(&all)), ["m-metadata", "m-networkdata"]);
    all.has_metadata = true;
    assert_eq!(secrets(&plan(&all)), ["m-networkdata"]);
    all.has_network_data = true;
    all.subject = None;
    all.leases = Ok(BTreeMap::new());
    let done = plan(&all);
    assert_eq!(
        (state(&done), secrets(&done).len()),
        ((true, None), 0),
        "neither host nor addresses are needed"
    );
    let name =
        |reference: &Option<schemas::metal3::SecretReference>| reference.clone().unwrap().name.unwrap();
    assert_eq!(name(&done.wanted.spec.meta_data), "m-metadata");
    assert_eq!(name(&done.wanted.spec.network_data), "m-networkdata");
    let nothing = plan(&observed(json!({}), None));
    assert_eq!((state(&nothing), secrets(&nothing).len()), ((true, None), 0));
    assert_eq!(nothing.wanted.spec.meta_data, None);
}

/// Whoever writes a template, a label or an annotation writes texts, and no structure of the document.
#[test]
fn texts_of_a_template_stay_texts() {
    let texts = [
        ("lines", "x\nproviderid: stolen\n- &a !!binary {b: c}\n--- # \u{85}\u{2028}\t\"'"),
        ("a: b\nproviderid", "stolen"),
        ("<<", "{providerid: stolen}"),
        ("switch", "yes"),
        ("number", "0123"),
        ("nothing", "~"),
    ];
    let strings: Vec<Value> = texts.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
    let planned = plan(&observed(json!({"metaData": {"strings": strings}}), None));
    let data = planned.secrets[0].data.clone().unwrap();
    let text = String::from_utf8(data["metaData"].0.clone()).unwrap();
    let read: BTreeMap<String, String> = serde_saphyr::from_str(&text).unwrap();
    for (key, value) in texts {
        assert_eq!(read.get(key).map(String::as_str), Some(value), "{text}");
    }
    assert_eq!(read.len(), texts.len() + 1, "{text}");
    assert!(read["providerid"].ends_with("/m"), "{text}");
}

#[test]
fn data_wait_for_addresses_and_objects() {
    let missing = plan(&with_pool(Lease::Missing));
    assert_eq!((state(&missing), missing.claims.len(), missing.secrets.len()), ((false, None), 1, 0));
    let waiting = plan(&with_pool(Lease::Waiting(None)));
    assert_eq!((state(&waiting), waiting.claims.len()), ((false, None), 0));
    let failed = plan(&with_pool(Lease::Waiting(Some("it is full".into()))));
    let expected = "pool \"pool\" gives no address to claim \"t-0-pool\": it is full";
    assert_eq!(state(&failed), (false, Some(expected)));
    let foreign = plan(&with_pool(Lease::Foreign("it belongs to another object".into())));
    assert_eq!(state(&foreign), (false, Some("it belongs to another object")));
    let clash = Observed { leases: Err("two kinds".into()), ..with_pool(Lease::Missing) };
    assert_eq!(state(&plan(&clash)), (false, Some("two kinds")));
    let alone = Observed { metal3_machine: None, subject: None, ..with_pool(Lease::Missing) };
    assert_eq!(state(&plan(&alone)), (false, None));
    let no_host = Observed { subject: None, missing_host: Some("ns/h".into()), ..with_pool(Lease::Missing) };
    let expected = "there is no BareMetalHost ns/h, which is in the annotations of Metal3Machine m";
    assert_eq!(state(&plan(&no_host)), (false, Some(expected)));
    let mut data = Metal3Data::default();
    data.metadata.namespace = Some("ns".into());
    let no_template = Observed { template: None, data: Arc::new(data), ..with_pool(Lease::Missing) };
    assert_eq!(state(&plan(&no_template)), (false, Some("there is no Metal3DataTemplate ns/")));
}

#[test]
fn addresses_are_returned_when_the_claim_is_gone() {
    let mut observed = with_pool(Lease::Missing);
    let mut data = observed.data.as_ref().clone();
    data.metadata.deletion_timestamp = Some(engine::time::time(chrono::DateTime::UNIX_EPOCH));
    observed.data = Arc::new(data);
    let held = plan(&observed);
    assert!(!held.returns_addresses && held.wanted == *observed.data && held.claims.is_empty());
    observed.has_claim = false;
    let released = plan(&observed);
    assert!(released.returns_addresses);
    assert_eq!(released.wanted.metadata.finalizers.as_deref(), Some(&[CLAIM_FINALIZER.to_owned()][..]));
}
