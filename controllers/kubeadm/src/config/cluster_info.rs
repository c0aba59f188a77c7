//! The signature of a bootstrap token in a workload cluster's `kube-public/cluster-info`, without which `kubeadm join` does not trust what it
//! reads there. The cluster's own controller `bootstrapsigner` writes it, too, but starts late in a new cluster, and `kubeadm join` looks for it
//! only every 5 s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::{Manager, NamespacedName, Workload};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use machinery::clock::Clock;
use parking_lot::Mutex;
use ring::hmac;
use serde_json::{Value, json};

use crate::controlplane::addons;

const NAMESPACE: &str = "kube-public";
const NAME: &str = "cluster-info";
/// The key of what is signed.
const KUBECONFIG: &str = "kubeconfig";
/// The keys of signatures begin with this. The ID of the token follows.
const SIGNATURE: &str = "jws-kubeconfig-";
/// The most signatures that stay when one is added. Most are of tokens that are gone, where nobody cleans up; `bootstrapsigner` writes those of
/// living ones again.
const MAX_SIGNATURES: usize = 100;
/// How often it is tried while `kubeadm init` may still write what is to be signed, and the pause between two attempts.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(200);

/// Computes the signature of a text by a token: a JSON Web Signature (HS256) without its content, as Kubernetes'
/// `k8s.io/cluster-bootstrap/token/jws` does (RFC 7515, appendix F).
pub fn signature(content: &str, id: &str, secret: &str) -> String {
    let header = URL_SAFE_NO_PAD.encode(json!({"alg": "HS256", "kid": id}).to_string());
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(content));
    let code = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), signed.as_bytes());
    format!("{header}..{}", URL_SAFE_NO_PAD.encode(code))
}

/// Returns the patch that adds the signatures of tokens; `None` if they are there, or if there is nothing to sign. The patch fails with a conflict
/// once the ConfigMap has changed, so that no signature is that of an older text.
pub fn patch(cluster_info: &ConfigMap, tokens: &BTreeSet<String>) -> Option<Value> {
    let data = cluster_info.data.as_ref()?;
    let content = data.get(KUBECONFIG)?;
    let version = cluster_info.metadata.resource_version.as_deref()?;
    let tokens = tokens.iter().filter_map(|token| token.split_once('.'));
    let mut signatures: BTreeMap<String, Value> = tokens
        .map(|(id, secret)| (format!("{SIGNATURE}{id}"), signature(content, id, secret).into()))
        .filter(|(key, _)| !data.contains_key(key))
        .collect();
    if signatures.is_empty() {
        return None;
    }
    let present: Vec<&String> = data.keys().filter(|key| key.starts_with(SIGNATURE)).collect();
    if present.len() >= MAX_SIGNATURES {
        signatures.extend(present.into_iter().map(|key| (key.clone(), Value::Null)));
    }
    Some(json!({"metadata": {"resourceVersion": version}, "data": signatures}))
}

/// The tokens with which each cluster's `cluster-info` is still to be signed. They are secrets.
#[derive(Default, Clone)]
pub(super) struct Signer(Arc<Mutex<BTreeMap<NamespacedName, BTreeSet<String>>>>);

impl Signer {
    /// Signs with a token, beside the work of the caller. Where this fails, or nothing is there to be signed, `bootstrapsigner` does it.
    pub fn sign(&self, manager: &Manager, workload: &Arc<Workload>, token: &str) {
        let mut waiting = self.0.lock();
        let is_running = waiting.contains_key(workload.cluster());
        waiting.entry(workload.cluster().clone()).or_default().insert(token.to_owned());
        if !is_running {
            let (signer, clock, workload) = (self.clone(), manager.clock().clone(), workload.clone());
            manager.spawn(async move { signer.run(&clock, &workload).await });
        }
    }

    async fn run(&self, clock: &Clock, workload: &Workload) {
        let (cluster, mut attempts) = (workload.cluster(), 0);
        loop {
            let tokens = self.0.lock().get(cluster).cloned().unwrap_or_default();
            let is_done = attempt(workload, &tokens).await.unwrap_or_else(|error| {
                tracing::debug!(%cluster, %error, "cannot sign cluster-info with bootstrap tokens");
                true
            });
            attempts += 1;
            if !is_done && attempts < ATTEMPTS {
                clock.sleep(PAUSE).await;
                continue;
            }
            // Tokens that came meanwhile have attempts of their own.
            attempts = 0;
            let mut waiting = self.0.lock();
            let left = waiting.entry(cluster.clone()).or_default();
            left.retain(|token| !tokens.contains(token));
            if left.is_empty() {
                waiting.remove(cluster);
                return;
            }
        }
    }
}

/// Signs with these tokens. Returns whether there is nothing left to do; otherwise it may succeed soon.
async fn attempt(workload: &Workload, tokens: &BTreeSet<String>) -> kube::Result<bool> {
    // `kubeadm init` writes `cluster-info` after its configuration, with which others join, and before the add-ons.
    let is_final = addons::has_coredns(workload);
    let api = Api::<ConfigMap>::namespaced(workload.client().clone(), NAMESPACE);
    let Some(found) = api.get_opt(NAME).await? else { return Ok(is_final) };
    let Some(patch) = patch(&found, tokens) else { return Ok(true) };
    match api.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        patched => patched.map(|_| true),
    }
}
