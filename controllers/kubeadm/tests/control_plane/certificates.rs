//! Authorities, keys and the kubeconfig of a control plane.

use super::*;

#[test]
fn an_authority_without_a_key_is_used_where_no_key_is_needed() {
    let mut world = World::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    world.observed.keyless = [Purpose::ClusterAuthority, Purpose::EtcdAuthority].into();
    world.observed.kubeconfig = Kubeconfig::Given;
    assert_eq!(world.steps(), []);
    assert_eq!(world.condition("CertificatesAvailable"), condition("True", "Available", ""));

    world.observed.kubeconfig = Kubeconfig::Missing;
    assert_eq!(world.steps(), [], "the kubeconfig needs the key");
    let text = "Secret c-ca has no private key (tls.key), so Secret c-kubeconfig can't be created: create it";
    assert_eq!(world.condition("CertificatesAvailable"), condition("False", "NotAvailable", text));

    world.observed.kubeconfig = Kubeconfig::Ours(now() + Duration::days(100));
    assert_eq!(world.steps(), []);
    let text = "Secret c-kubeconfig expires at 2027-03-01T03:00:00Z, and can't be renewed because Secret c-ca has no private \
                key (tls.key): renew it";
    assert_eq!(world.condition("CertificatesAvailable"), condition("True", "Available", text));
}

#[test]
fn a_secret_that_cannot_be_used_is_named() {
    let mut world = World::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    world.observed.unusable = vec!["Secret c-sa has no text under the key tls.key".to_owned()];
    assert_eq!(world.steps(), []);
    let text = "Secret c-sa has no text under the key tls.key";
    assert_eq!(world.condition("CertificatesAvailable"), condition("False", "NotAvailable", text));
    // A deletion goes on: nothing is created that would need the Secret.
    Arc::make_mut(&mut world.observed.control_plane).metadata.deletion_timestamp =
        Some(engine::time::time(now()));
    assert!(world.steps().contains(&Step::DeleteMachine("a".to_owned())));
    world.observed.unusable.clear();
    world.observed.secrets.clear();
    assert!(world.steps().contains(&Step::DeleteMachine("a".to_owned())), "nor are the Secrets needed");
}

#[test]
fn a_kubeconfig_is_renewed_after_half_its_life() {
    let mut world = World::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    for (days, steps) in [(183, vec![]), (182, vec![]), (181, vec![Step::MakeKubeconfig])] {
        world.observed.kubeconfig = Kubeconfig::Ours(now() + Duration::days(days));
        assert_eq!(world.steps(), steps, "{days}");
    }
    for (state, steps) in [
        (Kubeconfig::Missing, vec![Step::MakeKubeconfig]),
        (Kubeconfig::Unowned, vec![Step::OwnKubeconfig]),
        (Kubeconfig::Given, vec![]),
    ] {
        world.observed.kubeconfig = state;
        assert_eq!(world.steps(), steps, "{state:?}");
    }
}

#[test]
fn an_external_etcd_needs_secrets_of_the_user() {
    let mut world = World::new(1, "v1.36.0", Vec::new());
    world.observed.kubeconfig = Kubeconfig::Missing;
    let control_plane = Arc::make_mut(&mut world.observed.control_plane);
    control_plane.status = None;
    let external = json!({"endpoints": ["https://e"], "caFile": "/ca", "certFile": "/c", "keyFile": "/k"});
    control_plane.spec.kubeadm_config_spec =
        Some(from(json!({"clusterConfiguration": {"etcd": {"external": external}}})));
    world.observed.workload = None;
    let message = |world: &World| world.condition("CertificatesAvailable").2;
    assert_eq!(world.steps(), []);
    assert_eq!(message(&world), "Missing Secrets: c-apiserver-etcd-client");
    world.observed.secrets.remove(&Purpose::EtcdAuthority);
    assert_eq!(message(&world), "Missing Secrets: c-etcd, c-apiserver-etcd-client");
    world.observed.secrets.insert(Purpose::EtcdAuthority, true);
    world.observed.secrets.insert(Purpose::EtcdClient, true);
    world.observed.keyless.insert(Purpose::EtcdAuthority);
    assert_eq!(world.steps(), [Step::MakeKubeconfig, Step::CreateMachine(Entry::Init, None)]);
}

#[test]
fn an_add_on_that_does_not_follow_is_told() {
    let mut world = World::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    let control_plane = Arc::make_mut(&mut world.observed.control_plane);
    control_plane.spec.kubeadm_config_spec =
        Some(from(json!({"clusterConfiguration": {"dns": {"imageTag": "v1.0.1"}}})));
    let config = world.observed.control_plane.as_ref();
    let config = kubeadm::controlplane::desired::kubeadm_config(config, Entry::Join);
    world.observed.machines[0].config = Some(Arc::new(KubeadmConfig { spec: config, ..Default::default() }));
    let pods = json!({"containers": [{"name": "coredns", "image": "coredns:v1.12.0"}]});
    let deployment = json!({"metadata": {}, "spec": {"selector": {}, "template": {"spec": pods}}});
    world.view().addons.coredns = Some(Arc::new(from(deployment)));
    world.view().addons.corefile =
        Some(Arc::new(from(json!({"metadata": {}, "data": {"Corefile": ". {\n}"}}))));
    assert_eq!(world.steps(), []);
    let text = "* CoreDNS can't be downgraded from v1.12.0 to v1.0.1";
    assert_eq!(world.condition("RollingOut"), condition("False", "NotRollingOut", text));
}
