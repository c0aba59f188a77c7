//! What the containers of a Pod need before they start: a place in the network, and volumes.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::Mutex;

use super::place::{Place, Reach};
use super::shared::Shared;
use crate::gather::{Tokens, gather, wants_api_access};
use crate::needs::{ROOT_CERTIFICATE, root_certificate, with_api_access};
use crate::plan::Written;
use crate::volumes::{self, Found};

pub(super) struct Prepared {
    /// Where the Pod's processes are, as soon as that is known.
    place: Option<Place>,
    /// Where others reach the Pod.
    reach: Arc<OnceLock<Reach>>,
    /// Locked while the Pod's folder is changed.
    alone: Arc<Mutex<()>>,
    tokens: Tokens,
    found: Found,
    volumes: BTreeMap<String, Written>,
}

impl Prepared {
    pub(super) fn new(reach: Arc<OnceLock<Reach>>, alone: Arc<Mutex<()>>) -> Self {
        Self {
            place: None,
            reach,
            alone,
            tokens: Tokens::default(),
            found: Found::default(),
            volumes: BTreeMap::new(),
        }
    }

    pub(super) fn place(&self) -> Result<&Place> {
        self.place.as_ref().context("the Pod has no network yet")
    }

    /// Returns the address of the Pod, if it has one already.
    pub(super) fn address(&self) -> Option<&str> {
        self.reach.get().map(|reach| reach.address.as_str())
    }

    /// Returns the ConfigMaps and Secrets that the Pod names.
    pub(super) fn found(&self) -> &Found {
        &self.found
    }

    pub(super) fn volumes(&self) -> &BTreeMap<String, Written> {
        &self.volumes
    }

    /// Finds a place in the network, reads what the Pod needs, and writes its volumes. `ours` becomes the Pod with the volume through which
    /// its containers reach the API server.
    pub(super) async fn prepare(&mut self, shared: &Shared, pod: &Pod, ours: &mut Pod) -> Result<()> {
        if self.place.is_none() {
            let place = Place::find(shared, pod).await?;
            self.reach.set(place.reach()).ok();
            self.place = Some(place);
        }
        *ours = if wants_api_access(&shared.client, pod).await? {
            with_api_access(pod.clone())
        } else {
            pod.clone()
        };
        self.found = gather(&shared.client, &shared.clock, ours, &mut self.tokens).await?;
        self.found
            .config_maps
            .entry(ROOT_CERTIFICATE.to_owned())
            .or_insert_with(|| root_certificate(&shared.authority));
        let (pod, address) = (ours.clone(), self.address().unwrap_or_default().to_owned());
        let found = std::mem::take(&mut self.found);
        let folder = shared.folder_of(&pod).join("volumes");
        // A large Secret is many files.
        let wrote = self.change_folder(move || {
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            let written = volumes::write_all(&folder, &pod, &address, &found);
            Ok((found, written))
        });
        let (found, written) = wrote.await?;
        self.found = found;
        self.volumes = written?;
        Ok(())
    }

    /// Changes the Pod's folder in a thread of its own, which ends before the folder of a deleted Pod is removed.
    pub(super) async fn change_folder<T: Send + 'static>(
        &self,
        change: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let alone = self.alone.clone().lock_owned().await;
        let changed = tokio::task::spawn_blocking(move || {
            let changed = change();
            drop(alone);
            changed
        });
        changed.await?
    }
}
