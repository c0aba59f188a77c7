//! Tests of `consumer`.

use engine::NamespacedName;
use metal_machines::consumer::ConsumerKind;
use schemas::metal3::BareMetalHost;

#[test]
fn only_a_claim_uses_hosts_of_other_namespaces() {
    let name = NamespacedName::new("tenant", "m");
    for (kind, namespace, expected) in [
        (ConsumerKind::Machine, "tenant", true),
        (ConsumerKind::Machine, "metal", false),
        (ConsumerKind::Claim, "tenant", true),
        (ConsumerKind::Claim, "metal", true),
    ] {
        let mut host = BareMetalHost::default();
        host.metadata.namespace = Some(namespace.to_owned());
        host.spec.consumer_ref = Some(kind.reference(&name));
        assert_eq!(kind.uses(&name, &host), expected, "{kind:?} {namespace}");
        let other = [ConsumerKind::Machine, ConsumerKind::Claim].into_iter().find(|other| *other != kind);
        assert_eq!(other.and_then(|other| other.of(&host)), None, "a reference has one kind");
    }
}
