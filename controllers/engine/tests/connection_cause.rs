//! Tests of `engine::connection_cause`.

use std::io;

use engine::Error;
use engine::testing::{QUOTED_CHARS, connection_cause};
use rustls::{AlertDescription, CertificateError};
use rustls_pki_types::UnixTime;

fn service(error: impl Into<tower::BoxError>) -> Error {
    Error::api("probe", kube::Error::Service(error.into()))
}

fn api(code: u16, message: &str) -> Error {
    let status = kube::core::Status { code, message: message.to_owned(), ..Default::default() };
    Error::api("probe", kube::Error::Api(Box::new(status)))
}

fn tls(error: rustls::Error) -> Error {
    service(io::Error::other(io::Error::other(error)))
}

fn certificate(error: CertificateError) -> Error {
    tls(rustls::Error::InvalidCertificate(error))
}

#[test]
fn each_cause_is_a_sentence() {
    let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    let lookup = "failed to lookup address information: Name or service not known";
    let cases = [
        (
            service(io::Error::from(io::ErrorKind::ConnectionRefused)),
            "connection refused: nothing listens at api.first:6443",
        ),
        (service(io::Error::other(lookup)), "the name api.first cannot be resolved"),
        (
            service(io::Error::from(io::ErrorKind::UnexpectedEof)),
            "api.first:6443 closes the connection before it answers",
        ),
        (
            service(io::Error::new(io::ErrorKind::TimedOut, "no answer within 15 s")),
            "api.first:6443 does not answer: no answer within 15 s",
        ),
        (
            service(tower::timeout::error::Elapsed::new()),
            "api.first:6443 does not answer: no connection in time",
        ),
        (
            certificate(CertificateError::UnknownIssuer),
            "the certificate of api.first:6443 is not signed by the authority in the kubeconfig",
        ),
        (
            certificate(CertificateError::NotValidForName),
            "the certificate of api.first:6443 is not for this name",
        ),
        (
            certificate(CertificateError::ExpiredContext { time: at(9), not_after: at(0) }),
            "the certificate of api.first:6443 has expired at 1970-01-01T00:00:00Z",
        ),
        (
            certificate(CertificateError::NotValidYetContext { time: at(0), not_before: at(60) }),
            "the certificate of api.first:6443 is not valid before 1970-01-01T00:01:00Z; is the clock of this machine right?",
        ),
        (
            tls(rustls::Error::AlertReceived(AlertDescription::CertificateExpired)),
            "api.first:6443 refuses the client certificate of the kubeconfig: it has expired",
        ),
        (
            api(401, "Unauthorized"),
            "api.first:6443 refuses the credentials of the kubeconfig (401 Unauthorized)",
        ),
        (api(403, "no\nway"), "api.first:6443 answers 403: no way"),
        (Error::failed("probe: no answer within 5s"), "probe: no answer within 5s"),
        (service("odd"), "api.first:6443: odd"),
    ];
    for (error, expected) in cases {
        assert_eq!(connection_cause(&error, "api.first:6443"), expected);
    }
    assert_eq!(
        connection_cause(&api(500, &"x".repeat(9000)), "a:1").chars().count(),
        "a:1 answers 500: ".len() + QUOTED_CHARS + 1
    );
}
