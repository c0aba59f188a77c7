//! Tests of the feature gates.

use schemas::admission::{Features, Gates};

#[test]
fn gates_are_read_as_upstream_reads_them() {
    let features = |text: &str| text.parse::<Gates>().map(|gates| gates.features());
    assert_eq!(features(""), Ok(Features::default()));
    let expected = Features { cluster_topology: false, machine_pool: false, ..Features::default() };
    assert_eq!(features("ClusterTopology=false, MachinePool=F,PriorityQueue=0"), Ok(expected));
    assert_eq!(features("RuntimeSDK=false,RuntimeSDK=true"), Ok(Features::default()), "the last one counts");
    let all = features("AllAlpha=true").unwrap();
    assert_eq!(all, Features::default(), "what is built is on");
    assert!(all.runtime_sdk && all.machine_pool && all.machine_taint_propagation && all.in_place_updates);
    assert!(!features("AllBeta=false").unwrap().machine_pool);
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |text: &str| text.parse::<Gates>().unwrap_err();
    let unknown = wrong("ClusterTopologies=true");
    assert!(unknown.starts_with("there is no feature gate \"ClusterTopologies\"; there are "), "{unknown}");
    assert!(unknown.contains("ClusterTopology, ") && unknown.ends_with("RuntimeSDK"), "{unknown}");
    assert!(wrong("MachinePool").contains("write MachinePool=true"));
    assert!(wrong("MachinePool=on").contains("write true or false"));
}

#[test]
fn variables_of_clusterctl_set_gates() {
    let read = |pairs: &'static [(&str, &str)]| {
        let read =
            |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Gates::from_environment(read).map(|gates| gates.features())
    };
    assert_eq!(read(&[("CLUSTER_TOPOLOGY", "")]), Ok(Features::default()));
    let expected = Features { machine_pool: false, cluster_topology: false, ..Features::default() };
    assert_eq!(read(&[("EXP_MACHINE_POOL", "false"), ("CLUSTER_TOPOLOGY", "false")]), Ok(expected));
    let wrong = read(&[("EXP_MACHINE_POOL", "no")]);
    assert_eq!(wrong, Err("EXP_MACHINE_POOL: \"no\" is not valid; write true or false".to_owned()));
}
