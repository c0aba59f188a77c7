//! The range of the cluster IPs of Services.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use clap::Parser;
use firstlight::cli::Cli;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use server::process::Process;

use crate::place::options;

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_has_the_first_address_of_the_range() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path(), "none", &[]);
    options.service_cluster_ip_range = "10.96.0.0/16".parse().unwrap();
    let process = Process::start(&options).await.unwrap();
    let services: Api<Service> = Api::namespaced(process.plane.client("test"), "default");
    let one = WatchParams::default().fields("metadata.name=kubernetes");
    let mut events = std::pin::pin!(services.watch(&one, "0").await.unwrap());
    let service = loop {
        if let Some(WatchEvent::Added(service)) = events.try_next().await.unwrap() {
            break service;
        }
    };
    assert_eq!(service.spec.unwrap().cluster_ip.as_deref(), Some("10.96.0.1"));
    process.stop().await;
}

#[test]
fn a_range_that_cannot_be_served_is_refused() {
    for (range, why) in [
        ("10.96.0.0", "service-cluster-ip-range[0] is not a valid cidr"),
        ("10.96.0.0/16,fd00::", "service-cluster-ip-range[1] is not a valid cidr"),
        ("10.96.0.0/30", "the service cluster IP range must be at least 8 IP addresses"),
        ("10.0.0.0/24,fd00::/112,fd01::/112", "must not contain more than two entries"),
        ("10.96.0.0/16,fd00::/112", "Services have addresses of one family here"),
        ("fd00::/112", "is no range of IPv4 addresses"),
    ] {
        let arguments = ["firstlight", "serve", "--service-cluster-ip-range", range];
        let refused = Cli::try_parse_from(arguments).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}
