//! Reads what a Pod needs from the API server.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use chrono::{DateTime, Utc};
use container_images::Credentials;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use machinery::clock::Clock;

use crate::needs::{Token, needs};
use crate::volumes::Found;

/// A token is renewed when this part of its lifetime is left.
const RENEWED_AT: i32 = 5;

/// The tokens of a Pod, which are renewed before they expire.
#[derive(Default)]
pub(crate) struct Tokens {
    known: BTreeMap<Token, (String, DateTime<Utc>)>,
}

/// Returns all ConfigMaps, Secrets and tokens of a Pod, as far as they exist.
///
/// # Errors
/// The API server refuses or does not answer.
pub(crate) async fn gather(client: &Client, clock: &Clock, pod: &Pod, tokens: &mut Tokens) -> Result<Found> {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let needs = needs(pod);
    let mut found = Found::default();
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    for name in &needs.config_maps {
        let one = config_maps
            .get_opt(name)
            .await
            .map_err(|error| told(error, format!("cannot read the ConfigMap {name}")))?;
        found.config_maps.extend(one.map(|one| (name.clone(), one)));
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    for name in &needs.secrets {
        let one = secrets
            .get_opt(name)
            .await
            .map_err(|error| told(error, format!("cannot read the Secret {name}")))?;
        found.secrets.extend(one.map(|one| (name.clone(), one)));
    }
    for token in &needs.tokens {
        let text = tokens.get(client, clock, pod, token).await?;
        found.tokens.insert((token.volume.clone(), token.path.clone()), text);
    }
    Ok(found)
}

/// Returns whether the Pod gets a token, a namespace and an authority: its own word counts first, then that of its service account.
///
/// # Errors
/// The service account does not exist, or the API server does not answer.
pub(crate) async fn wants_api_access(client: &Client, pod: &Pod) -> Result<bool> {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    if let Some(own) = pod.spec.as_ref().and_then(|spec| spec.automount_service_account_token) {
        return Ok(own);
    }
    let name = account(pod);
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &namespace);
    let found = accounts.get(&name).await;
    let found = found.map_err(|error| told(error, format!("cannot read the ServiceAccount {name}")))?;
    Ok(found.automount_service_account_token != Some(false))
}

/// Returns the credentials of registries that the Pod names, or its service account.
///
/// # Errors
/// The API server refuses or does not answer.
pub(crate) async fn pull_credentials(client: &Client, pod: &Pod) -> Result<Credentials> {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let mut named = pod.spec.as_ref().and_then(|spec| spec.image_pull_secrets.clone()).unwrap_or_default();
    if named.is_empty() {
        let name = account(pod);
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &namespace);
        let found = accounts.get_opt(&name).await;
        let found = found.map_err(|error| told(error, format!("cannot read the ServiceAccount {name}")))?;
        named = found.and_then(|account| account.image_pull_secrets).unwrap_or_default();
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let mut all = Credentials::default();
    for name in named.into_iter().map(|reference| reference.name) {
        let found = secrets.get_opt(&name).await;
        let found = found.map_err(|error| told(error, format!("cannot read the Secret {name}")))?;
        // As in Kubernetes, the registry may not need one that is missing.
        let Some(data) = found.and_then(|secret| secret.data) else { continue };
        let of = |key: &str| data.get(key).map(|content| content.0.as_slice());
        let read = match (of(".dockerconfigjson"), of(".dockercfg")) {
            (Some(content), _) => Credentials::of_docker_config(content),
            (None, Some(content)) => Credentials::of_dockercfg(content),
            (None, None) => continue,
        };
        all = all.and(read.with_context(|| format!("the Secret {name}"))?);
    }
    Ok(all)
}

fn account(pod: &Pod) -> String {
    let named = pod.spec.as_ref().and_then(|spec| spec.service_account_name.clone());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned())
}

/// Returns the API server's message, without the structure around it.
fn told(error: kube::Error, doing: String) -> anyhow::Error {
    match error {
        kube::Error::Api(status) => anyhow!("{doing}: {}", status.message),
        other => anyhow::Error::new(other).context(doing),
    }
}

impl Tokens {
    async fn get(&mut self, client: &Client, clock: &Clock, pod: &Pod, token: &Token) -> Result<String> {
        let now = clock.now();
        if let Some((text, until)) = self.known.get(token)
            && *until > now
        {
            return Ok(text.clone());
        }
        let name = account(pod);
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        // A Pod that names no account is not one of its Pods for the API server.
        let is_named =
            pod.spec.as_ref().is_some_and(|spec| spec.service_account_name.as_ref() == Some(&name));
        let bound = is_named.then(|| BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
        });
        let spec = TokenRequestSpec {
            audiences: Some(token.audience.iter().cloned().collect()),
            bound_object_ref: bound,
            expiration_seconds: Some(token.seconds),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &namespace);
        let answer = accounts.create_token_request(&name, &PostParams::default(), &request).await;
        let answer = answer
            .map_err(|error| told(error, format!("cannot get a token for the ServiceAccount {name}")))?;
        let status = answer.status.unwrap_or_default();
        let text = status.token.context("the API server gave no token")?;
        let expires = status.expiration_timestamp.as_ref().map_or(now, engine::time::utc);
        let lifetime = (expires - now).to_std().unwrap_or(Duration::ZERO);
        let until = expires - lifetime / u32::try_from(RENEWED_AT).unwrap_or(1);
        self.known.insert(token.clone(), (text.clone(), until));
        Ok(text)
    }
}
