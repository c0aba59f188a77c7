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
    assert_eq!(all, Gates::left_to_others(&[]).features());
    assert!(all.runtime_sdk && all.machine_pool && all.machine_taint_propagation);
    let default = Features::default();
    assert!(
        default.machine_taint_propagation
            && default.kubeadm_bootstrap_format_ignition
            && default.cluster_topology
            && default.runtime_sdk,
        "what is built is on"
    );
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

#[test]
fn gates_without_a_controller_here() {
    let gates: Gates = "InPlaceUpdates=true,MachinePool=true,RuntimeSDK=true".parse().unwrap();
    let both = ["core", "kubeadm", "simulated"];
    assert_eq!(gates.not_implemented(&both), ["InPlaceUpdates"]);
    assert!(gates.not_implemented(&["kubeadm"]).is_empty());
    assert_eq!(Gates::left_to_others(&both), Gates::default());
    let left = Gates::left_to_others(&["kubeadm"]).and(&"RuntimeSDK=false".parse().unwrap()).features();
    assert!(left.cluster_topology && !left.runtime_sdk && left.kubeadm_bootstrap_format_ignition);
    assert_eq!(gates.without(&["InPlaceUpdates"]).not_implemented(&both), Vec::<&str>::new());
}
