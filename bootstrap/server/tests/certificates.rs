//! Tests of `server::certificates`.

use std::net::SocketAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use machinery::clock::Clock;
use machinery::random::Random;
use server::certificates::{Certificates, reachable};
use server::data_directory::{DataDirectory, write_private};

fn epoch() -> DateTime<Utc> {
    machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap()
}

#[tokio::test(start_paused = true)]
async fn certificates_stay_and_are_renewed_before_they_expire() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(folder.path())).unwrap();
    directory.create().unwrap();
    let (clock, random) = (Clock::simulated(epoch()), Random::seeded(1));
    let listen = SocketAddr::from(([127, 0, 0, 1], 6443));
    let first = Certificates::load_or_create(&directory, listen, &clock, &random).unwrap();
    let second = Certificates::load_or_create(&directory, listen, &clock, &random).unwrap();
    assert_eq!(first.kubeconfig(listen, "n").unwrap(), second.kubeconfig(listen, "n").unwrap());
    assert_eq!(first.authority(), second.authority());

    let day = Duration::from_secs(24 * 3600);
    tokio::time::advance(day * 200).await;
    let mut third = Certificates::load_or_create(&directory, listen, &clock, &random).unwrap();
    assert!(!third.renew().unwrap(), "two thirds of a year have not passed");
    tokio::time::advance(day * 60).await;
    assert!(third.renew().unwrap());
    assert_eq!(third.authority(), first.authority());
    assert_ne!(third.server, first.server);
    let facts = pki::inspect(&third.server.certificate).unwrap();
    assert!(facts.not_after > clock.now() + chrono::Duration::days(300));
}

/// The clock of the first start is years ahead, so its certificates are not valid yet.
#[tokio::test(start_paused = true)]
async fn what_is_not_valid_yet_is_made_again_with_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(folder.path())).unwrap();
    directory.create().unwrap();
    let random = Random::seeded(1);
    let listen = SocketAddr::from(([127, 0, 0, 1], 6443));
    let ahead = Clock::simulated(epoch() + chrono::Duration::days(400));
    let first = Certificates::load_or_create(&directory, listen, &ahead, &random).unwrap();
    let right = Clock::simulated(epoch());
    let second = Certificates::load_or_create(&directory, listen, &right, &random).unwrap();
    for certificate in [second.authority(), &second.server.certificate, &second.admin.certificate] {
        let facts = pki::inspect(certificate).unwrap();
        assert!(facts.not_before <= right.now() && right.now() < facts.not_after, "{facts:?}");
    }
    let key = |text: &str| pki::inspect(text).unwrap().public_key;
    assert_eq!(key(first.authority()), key(second.authority()));
    let third = Certificates::load_or_create(&directory, listen, &right, &random).unwrap();
    assert_eq!(third.kubeconfig(listen, "n").unwrap(), second.kubeconfig(listen, "n").unwrap());
}

/// A directory in place of the file that is written first simulates a failing disk.
#[tokio::test(start_paused = true)]
async fn a_kubeconfig_is_written_where_it_changes_and_a_good_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(folder.path())).unwrap();
    directory.create().unwrap();
    let (clock, random) = (Clock::simulated(epoch()), Random::seeded(1));
    let listen = SocketAddr::from(([127, 0, 0, 1], 6443));
    let mut certificates = Certificates::load_or_create(&directory, listen, &clock, &random).unwrap();
    let path = folder.path().join("kubeconfig");
    certificates.write_kubeconfig(&path, listen, "n").unwrap();
    std::fs::create_dir(folder.path().join("kubeconfig.new")).unwrap();
    certificates.write_kubeconfig(&path, listen, "n").unwrap();
    tokio::time::advance(Duration::from_secs(260 * 24 * 3600)).await;
    assert!(certificates.renew().unwrap());
    certificates.write_kubeconfig(&path, listen, "n").unwrap();
    let elsewhere = SocketAddr::from(([127, 0, 0, 1], 6444));
    assert!(certificates.write_kubeconfig(&path, elsewhere, "n").is_err(), "it names another address");
    tokio::time::advance(Duration::from_secs(200 * 24 * 3600)).await;
    assert!(certificates.write_kubeconfig(&path, listen, "n").is_err(), "it has expired");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_authority_is_named_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(folder.path())).unwrap();
    directory.create().unwrap();
    let (clock, random) = (Clock::simulated(epoch()), Random::seeded(1));
    let listen = SocketAddr::from(([127, 0, 0, 1], 6443));
    write_private(&directory.pki().join("ca.crt"), b"garbage").unwrap();
    write_private(&directory.pki().join("ca.key"), b"garbage").unwrap();
    let error = Certificates::load_or_create(&directory, listen, &clock, &random).err().unwrap();
    assert!(format!("{error:#}").contains("pki is damaged"), "{error:#}");
    assert_eq!(std::fs::read(directory.pki().join("ca.crt")).unwrap(), b"garbage");
}

#[test]
fn an_unspecified_address_is_reached_over_loopback() {
    assert_eq!(reachable("0.0.0.0:6443".parse().unwrap()).to_string(), "127.0.0.1:6443");
    assert_eq!(reachable("[::]:6443".parse().unwrap()).to_string(), "[::1]:6443");
    assert_eq!(reachable("10.0.0.5:1".parse().unwrap()).to_string(), "10.0.0.5:1");
}
