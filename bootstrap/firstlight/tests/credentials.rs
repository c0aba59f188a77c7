//! Kubeconfigs of other clusters, as the controllers open them.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;

use engine::testing::WorkloadClients;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use machinery::clock::Clock;
use net::{Network, RealNetwork};
use pki::kubeconfig::{Credentials, Kubeconfig};
use serde_json::json;

use crate::place::Place;

/// Returns the user as whom each of the clients of a kubeconfig is known.
async fn users(kubeconfig: &Kubeconfig) -> Result<[String; 2], kube::Error> {
    let network: Arc<dyn Network> = Arc::new(RealNetwork);
    let text = kubeconfig.to_yaml().unwrap();
    let clients = WorkloadClients::new(&network, &Clock::system(), text.as_bytes()).unwrap();
    let user = async |client| {
        let reviews: Api<SelfSubjectReview> = Api::all(client);
        let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
        Ok::<_, kube::Error>(review.status.unwrap().user_info.unwrap().username.unwrap())
    };
    Ok([user(clients.shared).await?, user(clients.dedicated).await?])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_or_a_certificate_proves_the_client_and_the_server_may_have_another_name() {
    let place = Place::start("none", &[]).await;
    let text = std::fs::read_to_string(&place.process.kubeconfig).unwrap();
    let admin = Kubeconfig::parse(&text).unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(place.process.plane.client("test"), "default");
    let account = serde_json::from_value(json!({"metadata": {"name": "robot"}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
    let issued = accounts.create_token_request("robot", &PostParams::default(), &request).await.unwrap();

    assert_eq!(users(&admin).await.unwrap(), ["firstlight-admin"; 2]);
    let credentials = Credentials { identity: None, token: issued.status.unwrap().token };
    let robot = Kubeconfig { credentials, server_name: Some("kubernetes.default".to_owned()), ..admin };
    assert_eq!(users(&robot).await.unwrap(), ["system:serviceaccount:default:robot"; 2]);
    let stranger = Credentials { identity: None, token: Some("a.b.c".to_owned()) };
    let refused = users(&Kubeconfig { credentials: stranger, ..robot.clone() }).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 401), "{refused}");
    let elsewhere = Kubeconfig { server_name: Some("elsewhere.example".to_owned()), ..robot };
    assert!(users(&elsewhere).await.is_err(), "the certificate has another name");
    place.process.stop().await;
}
