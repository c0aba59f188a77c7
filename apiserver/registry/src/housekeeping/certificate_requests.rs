//! Signs CertificateSigningRequests that somebody has approved.

use std::sync::Arc;

use kinds::Subresource;
use machinery::meta;
use machinery::status::Status;
use serde_json::{Value, json};
use store::{Event, EventKind};
use tokio::time::Instant;

use super::part::Part;
use super::retries::Retries;
use crate::context::{Context, PatchBody};
use crate::verbs;
use crate::write::writes::Writes;

const GROUP: &str = "certificates.k8s.io";
const RESOURCE: &str = "certificatesigningrequests";
pub(crate) const PREFIX: &str = "/registry/certificates.k8s.io/certificatesigningrequests/";

/// What a signer says to an approved request.
pub enum Signed {
    /// The certificate, encoded as in the request's status.
    Certificate(String),
    /// The request breaks a rule of its signer, so that it never gets a certificate.
    Refused(String),
    /// It is a request for another signer.
    NotConcerned,
}

/// Signs requests.
pub trait SignRequests: Send + Sync {
    /// Signs an approved CertificateSigningRequest.
    ///
    /// # Errors
    /// The reason why it cannot be signed now. It is tried again later.
    fn sign(&self, request: &Value) -> Result<Signed, String>;
}

/// The task, with the names of the requests to look at.
pub(crate) struct Signing {
    queue: Retries,
    signer: Arc<dyn SignRequests>,
}

impl Signing {
    pub(crate) fn new(writes: &Writes, signer: Arc<dyn SignRequests>) -> Self {
        let (stored, _) = writes.storage().range(PREFIX);
        Self { queue: stored.iter().map(|stored| stored.key.name().to_owned()).collect(), signer }
    }
}

impl Part for Signing {
    fn observe(&mut self, _writes: &Writes, event: &Event) {
        if event.kind != EventKind::Deleted && event.key().resource() == RESOURCE {
            self.queue.insert(event.key().name().to_owned());
        }
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        for name in self.queue.take(writes) {
            let signed = sign(writes, self.signer.as_ref(), &name).await;
            if let Some(status) = self.queue.ended(writes, &name, signed) {
                tracing::warn!(name, %status, "a certificate request is not signed");
            }
        }
        false
    }

    fn again_at(&self) -> Option<Instant> {
        self.queue.again_at()
    }
}

fn is(request: &Value, condition: &str) -> bool {
    let mut conditions = request["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == condition && one["status"] == "True")
}

async fn sign(writes: &Writes, signer: &dyn SignRequests, name: &str) -> Result<(), Status> {
    let reader = writes.versions().reader();
    let Some(request) = reader.stored_object(GROUP, RESOURCE, "", name) else { return Ok(()) };
    let has_certificate = request["status"]["certificate"].as_str().is_some_and(|text| !text.is_empty());
    if has_certificate || !is(&request, "Approved") || is(&request, "Denied") || is(&request, "Failed") {
        return Ok(());
    }
    let status = match signer.sign(&request).map_err(Status::internal)? {
        Signed::NotConcerned => return Ok(()),
        Signed::Certificate(certificate) => json!({"certificate": certificate}),
        Signed::Refused(why) => {
            let mut conditions = request["status"]["conditions"].clone();
            if let Some(conditions) = conditions.as_array_mut() {
                conditions.push(json!({
                    "type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why,
                    "lastUpdateTime": writes.now(),
                }));
            }
            json!({"conditions": conditions})
        }
    };
    let Some(served) = writes.versions().served(GROUP, "v1", RESOURCE) else { return Ok(()) };
    let version = json!({"uid": meta::uid(&request), "resourceVersion": meta::resource_version(&request)});
    let patch = PatchBody::Merge(json!({"metadata": version, "status": status}).to_string().into());
    let mut context = Context::internal("kube-controller-manager");
    verbs::patch(writes, &mut context, &served, "", name, Subresource::Status, patch).await.map(drop)
}
