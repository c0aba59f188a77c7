//! The image of a container: from a folder or archive of this machine, or pulled from its registry.

use std::time::Duration;

use anyhow::{Context, anyhow};
use chrono::{DateTime, TimeDelta, Utc};
use container_images::{Credentials, Name, Policy, Unpacked};
use k8s_openapi::api::core::v1::{Container, Pod};

use super::shared::Shared;
use super::state::{FailedPull, State};
use crate::gather::pull_credentials;

/// The delay after the first failed pull; it doubles with each further one. Both are those of Kubernetes.
const FIRST_DELAY: Duration = Duration::from_secs(10);
/// The longest delay.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

/// Why a container does not start.
pub(super) struct Refused {
    /// The reason, in Kubernetes' words.
    pub(super) reason: &'static str,
    /// What the user reads.
    pub(super) error: anyhow::Error,
    /// It is not tried again before this time.
    pub(super) until: Option<DateTime<Utc>>,
}

impl Refused {
    pub(super) fn new(reason: &'static str, error: anyhow::Error) -> Self {
        Self { reason, error, until: None }
    }
}

/// Returns the unpacked image of a container. A registry that failed is asked again with a back-off.
pub(super) async fn image(
    shared: &Shared,
    pod: &Pod,
    state: &mut State,
    container: &Container,
) -> Result<Unpacked, Refused> {
    let text = container.image.clone().unwrap_or_default();
    let name: Name = text.parse().map_err(|error| Refused::new("InvalidImageName", error))?;
    if let Some(failed) = &state.failed_pull
        && failed.until > shared.clock.now()
    {
        let error = anyhow!("Back-off pulling image {text:?}: ErrImagePull: {}", failed.message);
        return Err(Refused { reason: "ImagePullBackOff", error, until: Some(failed.until) });
    }
    let found = find_or_pull(shared, pod, &name, container).await;
    match &found {
        Ok(_) => state.failed_pull = None,
        Err(refused) => {
            let tries = state.failed_pull.as_ref().map_or(0, |failed| failed.tries);
            let until = shared.clock.now() + delay(tries);
            let message = format!("{:#}", refused.error);
            state.failed_pull = Some(FailedPull { tries: tries + 1, until, message });
        }
    }
    found
}

async fn find_or_pull(
    shared: &Shared,
    pod: &Pod,
    name: &Name,
    container: &Container,
) -> Result<Unpacked, Refused> {
    let failed = |error| Refused::new("ErrImagePull", error);
    let (images, sources, wanted) = (shared.images.clone(), shared.sources.clone(), name.clone());
    let found = tokio::task::spawn_blocking(move || {
        let found = sources.find(&wanted, images.scratch());
        found.map(|(archive, image)| {
            let unpacked = images.unpack(&archive, &image);
            unpacked.with_context(|| format!("the image {wanted} cannot be used"))
        })
    });
    let here = match found.await.context("the image was not unpacked").map_err(failed)? {
        Ok(unpacked) => return unpacked.map_err(failed),
        Err(error) => error,
    };
    let policy = match container.image_pull_policy.as_deref() {
        Some("Never") => {
            let error =
                anyhow!("Container image \"{name}\" is not present with pull policy of Never; {here:#}");
            let known = shared.images.remembered(name).await;
            return known.ok_or_else(|| Refused::new("ErrImageNeverPull", error));
        }
        Some("Always") => Policy::Always,
        _ => Policy::IfNotPresent,
    };
    let pulled = pull(shared, pod, name, policy).await;
    let pulled = pulled.with_context(|| format!("the image {name} cannot be pulled"));
    pulled.map_err(|error| {
        // Whoever named folders wants to know about them, too.
        let is_told = !shared.sources.is_empty();
        failed(if is_told { anyhow!("{here:#}; {error:#}") } else { error })
    })
}

async fn pull(shared: &Shared, pod: &Pod, name: &Name, policy: Policy) -> anyhow::Result<Unpacked> {
    let (images, registries) = (&shared.images, &shared.registries);
    if policy == Policy::IfNotPresent
        && let Some(known) = images.remembered(name).await
    {
        return Ok(known);
    }
    let own = pull_credentials(&shared.client, pod).await?;
    let credentials = own.and(Credentials::of_this_user());
    let pulled = registries.pull(images, name, policy, &credentials).await?;
    shared.recorder.normal(pod, &(), "Pulled", format!("Successfully pulled image \"{name}\""));
    Ok(pulled)
}

/// How long a registry is left alone after this many failures before.
pub fn delay(tries: u32) -> TimeDelta {
    let delay = FIRST_DELAY.saturating_mul(2u32.saturating_pow(tries.min(16))).min(LONGEST_DELAY);
    TimeDelta::from_std(delay).unwrap_or(TimeDelta::MAX)
}
