//! Authorities, keys and the kubeconfig of a control plane.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kubeadm::checks::Checked;
use machinery::random::Random;
use pki::{CertificateAuthority, KeyAlgorithm, Leaf, PrivateKey};

use super::*;

#[test]
fn an_authority_without_a_key_is_used_where_no_key_is_needed() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    fixture.observed.keyless = [Purpose::ClusterAuthority, Purpose::EtcdAuthority].into();
    fixture.observed.kubeconfig = Kubeconfig::Given;
    assert_eq!(fixture.steps(), []);
    assert_eq!(fixture.condition("CertificatesAvailable"), condition("True", "Available", ""));

    fixture.observed.kubeconfig = Kubeconfig::Missing;
    assert_eq!(fixture.steps(), [], "the kubeconfig needs the key");
    let text = "Secret c-ca has no private key (tls.key), so Secret c-kubeconfig can't be created: create it";
    assert_eq!(fixture.condition("CertificatesAvailable"), condition("False", "NotAvailable", text));

    fixture.observed.kubeconfig = Kubeconfig::Ours(now() + Duration::days(100));
    assert_eq!(fixture.steps(), []);
    let text = "Secret c-kubeconfig expires at 2027-03-01T03:00:00Z, and can't be renewed because Secret c-ca has no private \
                key (tls.key): renew it";
    assert_eq!(fixture.condition("CertificatesAvailable"), condition("True", "Available", text));
}

#[test]
fn a_secret_that_cannot_be_used_is_named() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    fixture.observed.unusable = vec!["Secret c-sa has no text under the key tls.key".to_owned()];
    assert_eq!(fixture.steps(), []);
    let text = "Secret c-sa has no text under the key tls.key";
    assert_eq!(fixture.condition("CertificatesAvailable"), condition("False", "NotAvailable", text));
    // A deletion goes on: nothing is created that would need the Secret.
    Arc::make_mut(&mut fixture.observed.control_plane).metadata.deletion_timestamp =
        Some(engine::time::time(now()));
    assert!(fixture.steps().contains(&Step::DeleteMachine("a".to_owned())));
    fixture.observed.unusable.clear();
    fixture.observed.secrets.clear();
    assert!(fixture.steps().contains(&Step::DeleteMachine("a".to_owned())), "nor are the Secrets needed");
}

#[test]
fn a_kubeconfig_is_renewed_after_half_its_life() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    for (days, steps) in [(183, vec![]), (182, vec![]), (181, vec![Step::MakeKubeconfig])] {
        fixture.observed.kubeconfig = Kubeconfig::Ours(now() + Duration::days(days));
        assert_eq!(fixture.steps(), steps, "{days}");
    }
    for (state, steps) in [
        (Kubeconfig::Missing, vec![Step::MakeKubeconfig]),
        (Kubeconfig::Unowned, vec![Step::OwnKubeconfig]),
        (Kubeconfig::Given, vec![]),
    ] {
        fixture.observed.kubeconfig = state;
        assert_eq!(fixture.steps(), steps, "{state:?}");
    }
}

#[test]
fn an_external_etcd_needs_secrets_of_the_user() {
    let mut fixture = Fixture::new(1, "v1.36.0", Vec::new());
    fixture.observed.kubeconfig = Kubeconfig::Missing;
    let control_plane = Arc::make_mut(&mut fixture.observed.control_plane);
    control_plane.status = None;
    let external = json!({"endpoints": ["https://e"], "caFile": "/ca", "certFile": "/c", "keyFile": "/k"});
    control_plane.spec.kubeadm_config_spec =
        Some(from(json!({"clusterConfiguration": {"etcd": {"external": external}}})));
    fixture.observed.workload = None;
    let message = |fixture: &Fixture| fixture.condition("CertificatesAvailable").2;
    assert_eq!(fixture.steps(), []);
    assert_eq!(message(&fixture), "Missing Secrets: c-apiserver-etcd-client");
    fixture.observed.secrets.remove(&Purpose::EtcdAuthority);
    assert_eq!(message(&fixture), "Missing Secrets: c-etcd, c-apiserver-etcd-client");
    fixture.observed.secrets.insert(Purpose::EtcdAuthority, true);
    fixture.observed.secrets.insert(Purpose::EtcdClient, true);
    fixture.observed.keyless.insert(Purpose::EtcdAuthority);
    assert_eq!(fixture.steps(), [Step::MakeKubeconfig, Step::CreateMachine(Entry::Init, None)]);
}

#[test]
fn an_add_on_that_does_not_follow_is_told() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    let control_plane = Arc::make_mut(&mut fixture.observed.control_plane);
    control_plane.spec.kubeadm_config_spec =
        Some(from(json!({"clusterConfiguration": {"dns": {"imageTag": "v1.0.1"}}})));
    let config = fixture.observed.control_plane.as_ref();
    let config = kubeadm::controlplane::desired::kubeadm_config(config, Entry::Join);
    fixture.observed.machines[0].config =
        Some(Arc::new(KubeadmConfig { spec: config, ..Default::default() }));
    let pods = json!({"containers": [{"name": "coredns", "image": "coredns:v1.12.0"}]});
    let deployment = json!({"metadata": {}, "spec": {"selector": {}, "template": {"spec": pods}}});
    fixture.view().addons.coredns = Some(Arc::new(from(deployment)));
    fixture.view().addons.corefile =
        Some(Arc::new(from(json!({"metadata": {}, "data": {"Corefile": ". {\n}"}}))));
    assert_eq!(fixture.steps(), []);
    let text = "* the configuration of CoreDNS v1.12.0 can't be rewritten for v1.0.1: CoreDNS can't be downgraded from v1.12.0 to \
                v1.0.1; update CoreDNS by hand, or annotate the KubeadmControlPlane with \
                controlplane.cluster.x-k8s.io/skip-coredns";
    assert_eq!(fixture.condition("RollingOut"), condition("False", "NotRollingOut", text));
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_named_and_not_overwritten() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    fixture.observed.kubeconfig = Kubeconfig::Broken;
    assert_eq!(fixture.steps(), []);
    let text = "Secret c-kubeconfig has no kubeconfig with a client certificate under the key value: delete the Secret, and it is \
                created again";
    assert_eq!(fixture.condition("CertificatesAvailable"), condition("True", "Available", text));
}

#[test]
fn what_is_not_valid_yet_is_looked_at_when_it_is() {
    let mut fixture = Fixture::new(1, "v1.36.0", Vec::new());
    Arc::make_mut(&mut fixture.observed.control_plane).status = None;
    fixture.observed.workload = None;
    fixture.observed.unusable =
        vec!["Secret c-ca has a certificate that is not valid before then".to_owned()];
    fixture.observed.valid_from = Some(now() + Duration::hours(1));
    assert_eq!(fixture.steps(), [], "no Machine can come up with it");
    assert_eq!(plan(&fixture.observed, now()).requeue, Some(std::time::Duration::from_secs(3600)));
}

/// The Secret of `purpose` with this certificate and key.
fn secret(purpose: Purpose, certificate: &str, key: &str) -> Secret {
    let mut data = json!({});
    for (name, value) in [("tls.crt", certificate), ("tls.key", key)] {
        if !value.is_empty() {
            data[name] = serde_json::to_value(ByteString(value.as_bytes().to_vec())).unwrap();
        }
    }
    from(json!({"metadata": {"name": purpose.secret_name("c")}, "data": data}))
}

#[test]
fn certificates_and_keys_are_checked() {
    let random = Random::seeded(1);
    let authority = |days: i64, at: DateTime<Utc>| {
        let validity = Some(Duration::days(days));
        CertificateAuthority::generate("kubernetes", KeyAlgorithm::EcdsaP256, validity, at, &random).unwrap()
    };
    let (good, other) = (authority(10, now()), authority(10, now()));
    let leaf = good.issue(&Leaf::client("x", &[]), now(), &random).unwrap();
    let (old, early) = (authority(1, now() - Duration::days(2)), authority(10, now() + Duration::hours(1)));
    let (key, other_key) = (good.identity().key, other.identity().key);
    let account = PrivateKey::generate(KeyAlgorithm::EcdsaP256, &random).unwrap();
    let (ca, sa, client) = (Purpose::ClusterAuthority, Purpose::ServiceAccount, Purpose::EtcdClient);
    // Columns: purpose, certificate, key, the problem.
    let rows: Vec<(Purpose, &str, &str, &str)> = vec![
        (ca, good.certificate(), key.as_str(), ""),
        (ca, good.certificate(), "", ""),
        (ca, "", key.as_str(), "has no text under the key tls.crt"),
        (ca, "nonsense", key.as_str(), "has an unusable tls.crt: "),
        (
            ca,
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            &key,
            "has an unusable tls.crt: ",
        ),
        (ca, good.certificate(), "nonsense", "has an unusable tls.key: "),
        (
            ca,
            good.certificate(),
            other_key.as_str(),
            "has a private key (tls.key) that does not belong to tls.crt",
        ),
        (
            ca,
            leaf.certificate.as_str(),
            leaf.key.as_str(),
            "has a certificate under tls.crt that is not one of an authority",
        ),
        (ca, old.certificate(), "", "has a certificate that expired at 2026-11-20T03:"),
        (ca, early.certificate(), "", "has a certificate that is not valid before 2026-11-21T03:"),
        (client, leaf.certificate.as_str(), leaf.key.as_str(), ""),
        (client, leaf.certificate.as_str(), "", "has no text under the key tls.key"),
    ];
    for (purpose, certificate, key, problem) in rows {
        let found = Checked::of(&secret(purpose, certificate, key), purpose).problem("c-x", now());
        match problem {
            "" => assert_eq!(found, None),
            problem => {
                let found = found.unwrap();
                assert!(found.starts_with(&format!("Secret c-x {problem}")), "{found}");
                assert!(
                    !found.contains("nonsense") && !found.contains("BEGIN"),
                    "nothing is quoted: {found}"
                );
            }
        }
    }
    let (public, private) = (account.public_key_pem(), account.to_pem());
    let of =
        |certificate: &str, key: &str| Checked::of(&secret(sa, certificate, key), sa).problem("c-sa", now());
    assert_eq!(of(&public, &private), None);
    let mismatch = of(&public, &other_key).unwrap();
    assert_eq!(mismatch, "Secret c-sa has a private key (tls.key) that does not belong to tls.crt");
}
