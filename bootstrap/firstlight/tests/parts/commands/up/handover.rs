//! Tests of `firstlight::commands::up::handover`.

use std::path::Path;

use access::User;
use firstlight::commands::up::handover::{ITSELF, check_manifests, known_target, write_target};
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::kubeconfig::Kubeconfig;
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use registry::Registry;
use serde_json::{Value, json};
use serving::Server;
use store::{Memory, Store};

#[test]
fn everything_moves_into_one_real_cluster() {
    let cluster = |infrastructure: &str| json!({"kind": "Cluster", "metadata": {"name": "first"}, "spec": {"infrastructureRef": {"kind": infrastructure}}});
    let (real, other) = (cluster("Metal3Cluster"), json!({"kind": "Secret"}));
    let (mut of_dev, dev) = (
        cluster("DevCluster"),
        |backend: &str| json!({"kind": "DevCluster", "metadata": {"name": "first"}, "spec": {"backend": {backend: {}}}}),
    );
    of_dev["spec"]["infrastructureRef"]["name"] = json!("first");
    let refusal = |objects: &[&Value]| {
        check_manifests(objects.iter().copied()).err().map_or(String::new(), |error| error.to_string())
    };
    assert_eq!(refusal(&[&real, &other]), "");
    assert_eq!(refusal(&[]), "", "the Cluster may be there already");
    assert!(refusal(&[&real, &real]).contains("exactly one Cluster, and the manifests have 2"));
    assert!(refusal(&[&of_dev, &dev("inMemory")]).contains("Cluster \"first\" is simulated by this process"));
    assert_eq!(refusal(&[&of_dev, &dev("docker")]), "");
    assert_eq!(refusal(&[&of_dev]), "", "its infrastructure may be there already");
}

#[tokio::test]
async fn the_kubeconfig_is_kept_for_a_resumed_pivot() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::system();
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    let options = registry::Options::default();
    let random = Random::seeded(1);
    let registry = Registry::open(store, clock.clone(), random.clone(), options).await.unwrap();
    let server = Server::builder(registry, clock.clone()).build();
    let client = Client::new(server.client_service(User::master("test")), "default");
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let authority = CertificateAuthority::generate("ca", KeyAlgorithm::default(), None, clock.now(), &random);
    let authority = authority.unwrap();
    let identity = authority.issue(&Leaf::client("admin", &[]), clock.now(), &random).unwrap();
    let kubeconfig = Kubeconfig::for_cluster("first", "https://[::1]:1", authority.certificate(), identity);
    let mut trap = kubeconfig.to_value();
    trap["users"][0]["user"]["exec"] = json!({"command": "touch"});
    let target = |path: &str| known_target(Path::new(path), folder.path()).unwrap();
    assert_eq!(target("other"), Some("other".into()));
    assert_eq!(target(ITSELF), None);
    let cluster = json!({"metadata": {"namespace": "default", "name": "first"}, "spec": {}});
    let none = write_target(&[], client.clone(), folder.path()).await.unwrap_err().to_string();
    assert!(none.contains("exactly one Cluster, and there are 0"), "{none}");
    let of_cluster = std::slice::from_ref(&cluster);
    let put = async |value: String| {
        let secret = json!({"metadata": {"name": "first-kubeconfig"}, "stringData": {"value": value}});
        drop(secrets.delete("first-kubeconfig", &Default::default()).await);
        secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    };
    put(trap.to_string()).await;
    let refused = format!("{:#}", write_target(of_cluster, client.clone(), folder.path()).await.unwrap_err());
    assert!(refused.contains("first-kubeconfig: ") && refused.contains("exec of its user"), "{refused}");
    assert_eq!(target(ITSELF), None, "nothing was written");
    let mut with_more = kubeconfig.to_value();
    with_more["users"].as_array_mut().unwrap().push(json!({"name": "other", "user": {"exec": {}}}));
    put(with_more.to_string()).await;
    let path = write_target(of_cluster, client, folder.path()).await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), kubeconfig.to_yaml().unwrap());
    assert_eq!(target(ITSELF), Some(path.clone()));
    // An earlier release may have kept it as it was.
    std::fs::write(&path, trap.to_string()).unwrap();
    let refused = known_target(Path::new(ITSELF), folder.path()).unwrap_err();
    assert!(format!("{refused:#}").contains("exec of its user"), "{refused:#}");
}
