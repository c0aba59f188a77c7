//! Virtual CDs that start the agent: one for each host whose BMC presents it as a drive. It is assembled on each request from the boot
//! files of all machines and the host's own kernel arguments.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use engine::{Manager, NamespacedName, Objects};
use http::request::Parts;
use http::{Response, StatusCode};
use k8s_openapi::api::core::v1::Secret;
use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_boot::images::iso;
use metal_boot::personal::PersonalFile;
use metal_boot::pieces::{Piece, Pieces};
use schemas::metal3::PreprovisioningImage;

use crate::directory::Kube;
use crate::fingerprint::fingerprint;
use crate::http::file::{self, Body};
use crate::personal;

/// The path of the CDs over HTTP; [`metal::preprovisioning::path`] appends the rest.
pub const FOLDER: &str = "/boot/media";

/// Serves the virtual CDs of hosts.
pub struct Media {
    machines: Kube,
    secrets: Objects<Secret>,
}

/// A CD, and a tag that changes with its content.
pub struct Cd {
    /// The content.
    pub image: Pieces,
    /// The tag.
    pub tag: String,
}

impl Media {
    /// Starts to watch Secrets; the informer is synced when this returns.
    pub async fn start(manager: &Manager, machines: Kube) -> Arc<Self> {
        let secrets: Objects<Secret> = manager.objects();
        secrets.wait_until_synced().await;
        Arc::new(Self { machines, secrets })
    }

    /// Answers a request for a CD, by namespace, name, and file name (`UID.iso`).
    pub async fn answer(
        &self,
        boot: &BootFiles,
        [namespace, name, file]: [&str; 3],
        asked: &Parts,
    ) -> Response<Body> {
        let key = NamespacedName::new(namespace, name);
        let uid = file.strip_suffix(".iso").unwrap_or_default();
        let Some(image) = self.machines.media(&key, uid) else { return file::not_found() };
        let (boot, arguments) = (boot.clone(), self.arguments(&image, &boot.arguments));
        let architecture = image.spec.architecture.clone();
        let make = move || cd(&boot, architecture.as_deref(), arguments?);
        let made = tokio::task::spawn_blocking(make).await.map_err(anyhow::Error::from).flatten();
        match made {
            Ok(cd) => file::made(cd.image, &cd.tag, &asked.method, &asked.headers),
            Err(error) => {
                tracing::warn!(host = %key, error = format!("{error:#}"), "no CD for the agent");
                let text = "the CD cannot be made; the server's log says why\n";
                file::text(StatusCode::INTERNAL_SERVER_ERROR, text)
            }
        }
    }

    /// Returns the kernel's arguments for the host of an image; `None` if the boot image takes none.
    fn arguments(&self, image: &PreprovisioningImage, common: &str) -> Result<Option<String>> {
        let Some(token) = self.machines.media_token(image) else { return Ok(None) };
        let key = NamespacedName::of(image);
        let mut arguments = vec![common.to_owned()];
        if let Some(mac) = self.machines.boots_from(&key) {
            arguments.push(format!("BOOTIF=01-{}", mac.dashed()));
        }
        arguments.push(format!("firstlight.token={token}"));
        if let Some(name) = image.spec.network_data_name.as_ref().filter(|name| !name.is_empty()) {
            let secret = self.secrets.get(&NamespacedName::new(key.namespace.clone(), name.clone()));
            let secret = secret.with_context(|| format!("the Secret {name} is not there"))?;
            let network = metal::network_data::of_secret(&secret).map_err(anyhow::Error::msg);
            arguments.extend(network.with_context(|| format!("the Secret {name}"))?);
        }
        Ok(Some(arguments.join(" ")))
    }
}

/// Assembles a CD from the unified image, or from one with other arguments.
pub fn cd(boot: &BootFiles, architecture: Option<&str>, arguments: Option<String>) -> Result<Cd> {
    let name = architecture.unwrap_or(std::env::consts::ARCH);
    let processor =
        Processor::from_name(name).with_context(|| format!("{name}: there are no such machines"))?;
    let none = || format!("nothing to boot for {name}");
    let own =
        arguments.as_deref().map(|arguments| personal::unified(boot, processor, arguments)).transpose()?;
    let PersonalFile { content, tag } = match own.flatten() {
        Some(made) => made,
        None => {
            let mut content = Pieces::default();
            content.push(Piece::file(boot.unified.get(&processor).with_context(none)?)?);
            PersonalFile { content, tag: String::new() }
        }
    };
    let image = iso::assemble(content, name)?;
    let tag = format!("{:x}-{}", image.len(), &fingerprint(tag.as_bytes())[..32]);
    Ok(Cd { image, tag })
}
