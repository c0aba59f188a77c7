//! Tests of `server::nodes`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use machinery::clock::Clock;
use machinery::random::Random;
use server::nodes::options::NodeRuntime;
use server::nodes::{Settings, nodes_of_cluster};

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_asked_again() {
    let answers = Arc::new(AtomicBool::new(false));
    let is_up = answers.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let answer = match is_up.load(Ordering::SeqCst) {
            true => {
                let status = r#"{"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}"#;
                let body = Body::from(status.as_bytes().to_vec());
                Response::builder().status(404).body(body).map_err(io::Error::other)
            }
            false => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
        };
        std::future::ready(answer)
    });
    let settings = Settings {
        folder: PathBuf::new(),
        runtime: NodeRuntime::None,
        range: None,
        docker_network: String::new(),
        images: Vec::new(),
        registry_hosts: None,
        preload: Vec::new(),
    };
    let client = Client::new(service, "default");
    let nodes = nodes_of_cluster(settings, &client, &Clock::system(), &Random::seeded(1));
    let error = async || nodes.parts().await.err().map(|error| format!("{error:#}")).unwrap_or_default();
    assert!(error().await.starts_with("cannot read Deployment firstlight-system/"), "{}", error().await);
    answers.store(true, Ordering::SeqCst);
    assert_eq!(error().await, "no nodes run here: --node-runtime is none");
}
