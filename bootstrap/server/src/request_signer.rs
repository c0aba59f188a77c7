//! The signers of certificate requests that kube-controller-manager has: for clients of the API server, for kubelets as clients, and for
//! kubelets as servers.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::Duration;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::{CertificateAuthority, CertificateRequest, LEAF_VALIDITY_DAYS, NameKind};
use registry::{SignRequests, Signed};
use serde_json::Value;

/// The shortest validity of a certificate, in seconds.
const MIN_SECONDS: i64 = 600;

/// Signs requests with the authority of the server.
pub(crate) struct RequestSigner {
    pub(crate) authority: Arc<CertificateAuthority>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

impl SignRequests for RequestSigner {
    fn sign(&self, request: &Value) -> Result<Signed, String> {
        let spec = &request["spec"];
        let usages: Vec<&str> =
            spec["usages"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let check: fn(&CertificateRequest, &[&str]) -> Result<(), String> = match spec["signerName"].as_str()
        {
            Some("kubernetes.io/kube-apiserver-client") => |_, usages| client_usages(usages),
            Some("kubernetes.io/kube-apiserver-client-kubelet") => kubelet_client,
            Some("kubernetes.io/kubelet-serving") => kubelet_server,
            _ => return Ok(Signed::NotConcerned),
        };
        let text = STANDARD.decode(spec["request"].as_str().unwrap_or_default());
        let text = text.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        // As in kube-controller-manager, only the rules of a signer make a request fail for good. What cannot be read here, a later version
        // of the server may read.
        let asked = CertificateRequest::from_pem(&text).map_err(|why| why.to_string())?;
        if let Err(why) = check(&asked, &usages) {
            return Ok(Signed::Refused(why));
        }
        let most = Duration::days(LEAF_VALIDITY_DAYS);
        let wanted =
            spec["expirationSeconds"].as_i64().map(|seconds| Duration::seconds(seconds.max(MIN_SECONDS)));
        let validity = wanted.map_or(most, |wanted| wanted.min(most));
        let signed = self.authority.sign(&asked, &usages, validity, self.clock.now(), &self.random);
        let signed = signed.map_err(|error| error.to_string())?;
        Ok(Signed::Certificate(STANDARD.encode(signed)))
    }
}

/// Checks the usages of a client's certificate.
fn client_usages(usages: &[&str]) -> Result<(), String> {
    let known = ["digital signature", "key encipherment", "client auth"];
    if let Some(other) = usages.iter().find(|usage| !known.contains(usage)) {
        return Err(format!("invalid usage for client certificate: {other}"));
    }
    if !usages.contains(&"client auth") {
        return Err("missing required usage for client certificate: client auth".to_owned());
    }
    Ok(())
}

/// Checks that a request is of a kubelet.
fn of_kubelet(request: &CertificateRequest) -> Result<(), String> {
    if request.organizations != ["system:nodes"] {
        return Err("subject organization is not system:nodes".to_owned());
    }
    Ok(())
}

fn of_node(request: &CertificateRequest) -> Result<(), String> {
    if !request.common_name.starts_with("system:node:") {
        return Err("subject common name does not begin with system:node:".to_owned());
    }
    Ok(())
}

/// Checks that a request has no alternative names of these kinds.
fn without(request: &CertificateRequest, kinds: &[NameKind]) -> Result<(), String> {
    match kinds.iter().find(|kind| request.has(**kind)) {
        Some(kind) => Err(format!("{kind} subjectAltNames are not allowed")),
        None => Ok(()),
    }
}

/// Checks the usages, of which the encipherment of keys is for RSA only.
fn exactly(usages: &[&str], purpose: &str) -> Result<(), String> {
    let given: BTreeSet<&str> = usages.iter().copied().collect();
    let needed = BTreeSet::from(["digital signature", purpose]);
    let all = BTreeSet::from(["digital signature", "key encipherment", purpose]);
    if given == needed || given == all {
        return Ok(());
    }
    let all: Vec<&str> = all.into_iter().collect();
    Err(format!("usages did not match [{}]", all.join(" ")))
}

fn kubelet_client(request: &CertificateRequest, usages: &[&str]) -> Result<(), String> {
    of_kubelet(request)?;
    without(request, &[NameKind::Dns, NameKind::Email, NameKind::Ip, NameKind::Uri])?;
    of_node(request)?;
    exactly(usages, "client auth")
}

fn kubelet_server(request: &CertificateRequest, usages: &[&str]) -> Result<(), String> {
    of_kubelet(request)?;
    if !request.has(NameKind::Dns) && !request.has(NameKind::Ip) {
        return Err("DNS or IP subjectAltName is required".to_owned());
    }
    without(request, &[NameKind::Email, NameKind::Uri])?;
    exactly(usages, "server auth")?;
    of_node(request)
}
