//! Tests of `takeover::metal3::logs`.

use std::collections::{BTreeMap, BTreeSet};

use takeover::metal3::logs::{
    CONFLICT, admitted, errors_of_ironic, errors_of_operator, reconciles, transitions,
};

#[test]
fn errors_and_reconciles_are_found() {
    let log = r#"{"level":"info","logger":"controllers.BareMetalHost","msg":"start","baremetalhost":{"name":"a"}}
{"level":"info","logger":"webhooks.BareMetalHost","msg":"validate create","namespace":"d","name":"b"}
{"level":"error","msg":"no"}
{"level":"info","logger":"controllers.HostFirmwareSettings","msg":"start","hostfirmwaresettings":{"name":"a"}}
panic: oh"#;
    assert_eq!(errors_of_operator(log).len(), 2);
    assert_eq!(reconciles(log), BTreeMap::from([("a".to_owned(), 1)]));
    assert_eq!(admitted(log), BTreeSet::from(["b".to_owned()]));
}

#[test]
fn what_upstream_always_logs_is_no_error() {
    let first = r#"{"level":"error","msg":"Ignored error while checking for Power Failure","host":"d~a","error":"host not registered"}"#;
    assert_eq!(errors_of_operator(first), Vec::<String>::new());
    assert_eq!(errors_of_operator(&format!("{first}\n{first}")).len(), 1);
    let failed =
        |error: &str| format!(r#"{{"level":"error","msg":"Reconciler error","error":"failed: {error}"}}"#);
    assert_eq!(errors_of_operator(&failed(CONFLICT)), Vec::<String>::new());
    assert_eq!(errors_of_operator(&failed("admission webhook denied the request")).len(), 1);
}

#[test]
fn states_of_nodes_are_found() {
    let log = "2026 1 INFO ironic [-] Node 5a0e moved to provision state \"verifying\" from state \"enroll\"; target\n\
            2026 1 ERROR ironic [-] no\n2026 1 INFO ironic [-] Node 5a0e moved to provision state \"manageable\" from state \"verifying\"";
    let states = ["verifying", "manageable"].map(str::to_owned).to_vec();
    assert_eq!(transitions(log), BTreeMap::from([("5a0e".to_owned(), states)]));
    assert_eq!(errors_of_ironic(log).len(), 1);
}
