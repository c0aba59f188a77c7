//! Tests of `server::controllers::selection`.

use server::controllers::selection::Selection;

#[test]
fn lists_are_read_in_any_order_and_what_is_unknown_is_named() {
    let names = |text: &str| text.parse::<Selection>().map(|selection| selection.names().to_vec());
    assert_eq!(names("core"), Ok(vec!["core"]));
    assert_eq!(names("simulated, core,core"), Ok(vec!["core", "simulated"]));
    let all = [
        "core",
        "kubeadm-bootstrap",
        "kubeadm-control-plane",
        "addons",
        "ipam",
        "simulated",
        "containers",
        "metal",
        "pods",
        "operator",
    ];
    assert_eq!(names("all"), Ok(all.to_vec()));
    assert_eq!(names("none"), Ok(Vec::new()));
    assert_eq!(names("kubeadm,core"), Ok(all[..3].to_vec()));
    assert_eq!(names("kubeadm-bootstrap,core"), Ok(all[..2].to_vec()));
    let without =
        "core,kubeadm-bootstrap,kubeadm-control-plane,addons,ipam,simulated,containers,pods,operator";
    assert_eq!(Selection::all().without("metal").to_string(), without);
    assert_eq!(Selection::NONE.to_string().parse(), Ok(Selection::NONE));
    let expected = "no controller is called \"cores\"; there are core, kubeadm-bootstrap, kubeadm-control-plane, addons, ipam, simulated, containers, metal, pods and operator";
    assert!(names("kube").is_err() && names("kubeadm-").is_err());
    assert_eq!(names("core,cores"), Err(expected.to_owned()));
}
