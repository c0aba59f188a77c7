//! Tests of `server::trust`.

use rustls::client::danger::ServerCertVerifier as _;
use std::sync::Arc;

use agent::testing::{AnyTime, authorities};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls_pki_types::{ServerName, UnixTime};

#[test]
fn a_clock_that_is_behind_is_no_hindrance_and_an_expired_certificate_is() {
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.not_before = date_time_ymd(2020, 1, 1);
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["10.0.0.1".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2027, 1, 1);
    let server = params.signed_by(&key, &ca).unwrap();
    let roots = authorities(&ca.pem()).unwrap();
    let verifier = AnyTime::new(roots, Arc::new(ring::default_provider())).unwrap();
    let seconds = |years: u64| UnixTime::since_unix_epoch(std::time::Duration::from_secs(years * 31_557_600));
    let verify = |name: &str, time: UnixTime| {
        verifier.verify_server_cert(
            server.der(),
            &[],
            &ServerName::try_from(name.to_owned()).unwrap(),
            &[],
            time,
        )
    };
    assert!(verify("10.0.0.1", seconds(30)).is_ok());
    assert!(verify("10.0.0.1", seconds(56)).is_ok());
    assert!(verify("10.0.0.1", seconds(60)).is_err());
    assert!(verify("10.0.0.2", seconds(30)).is_err());
    assert!(authorities("").is_err());
}
