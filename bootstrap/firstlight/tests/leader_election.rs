//! Leader election with the permissions that an installation gives.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use access::User;
use clap::Parser;
use firstlight::cli::{Cli, Command};
use firstlight::install::{carried_over, install};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use machinery::clock::Clock;
use server::controllers::Selection;
use server::installed::NAMESPACE;
use server::leader_election::{LEASE, LeaderElection, lead};

use crate::place::Place;

#[tokio::test(flavor = "multi_thread")]
async fn the_installed_role_is_enough() {
    let place = Place::start("none", &[]).await;
    let administrator = place.process.plane.client("administrator");
    install(
        &administrator,
        "firstlight:test",
        &carried_over(Selection::all(), false),
        None,
        false,
        &Clock::system(),
    )
    .await
    .unwrap();
    let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{NAMESPACE}")];
    let account = User::new(format!("system:serviceaccount:{NAMESPACE}:firstlight-controllers"), groups);
    let client = Client::new(place.process.plane.server.client_service(account), NAMESPACE);
    let manager = server::connection::manager(client);
    let arguments = ["firstlight", "controllers", "--leader-elect"];
    let Command::Controllers(options) = Cli::parse_from(arguments).command else { panic!("not controllers") };
    let election = LeaderElection::new(&options.leader_election, &manager, Some(NAMESPACE)).unwrap();
    let (leads, led) = tokio::sync::oneshot::channel();
    let end = async { led.await.unwrap() };
    lead(election, &manager, end, || leads.send(()).unwrap()).await.unwrap();
    let leases: Api<Lease> = Api::namespaced(administrator, NAMESPACE);
    let released = leases.get(LEASE).await.unwrap().spec.unwrap();
    assert_eq!((released.holder_identity, released.lease_duration_seconds), (None, Some(1)));
    place.process.stop().await;
}
