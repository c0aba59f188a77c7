//! `init list-images`: the images that an installation would pull.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use serde_json::Value;

use crate::components::{Components, Wanted, alter_images, images};
use crate::configuration::{Configuration, Provider, ProviderType};
use crate::install::{Chosen, named};
use crate::repository::{Fetcher, Repository};
use crate::{Context, Result, built_in, inventory, yaml};

const CERT_MANAGER_VERSION: &str = "v1.21.1";
const CERT_MANAGER_URL: &str =
    "https://github.com/cert-manager/cert-manager/releases/v1.21.1/cert-manager.yaml";
/// The images of the providers and, if cert-manager is not installed, those of cert-manager.
///
/// # Errors
/// A provider is not known, or its components cannot be read.
pub async fn list(
    mut chosen: Chosen,
    client: &Client,
    configuration: &Configuration,
    fetcher: &Fetcher,
) -> Result<Vec<String>> {
    inventory::installed(client).await?;
    let known = inventory::providers(client).await.unwrap_or_default();
    if inventory::only_name(&known, ProviderType::Core).is_none() {
        chosen.add_defaults();
    }
    let (chosen, found) = built_in::take(named(chosen)?, &built_in::providers(client).await?, configuration)?;
    // What is built in has no images, and nothing that would need cert-manager.
    if chosen.is_empty() && !found.is_empty() {
        return Ok(Vec::new());
    }
    let mut of_providers = BTreeSet::new();
    for (name, provider_type) in chosen {
        let wanted = Wanted { namespace: None, raw: true };
        let components = Components::fetch(&name, provider_type, configuration, fetcher, &wanted).await;
        let components =
            components.context(|| format!("failed to get provider components for the {name:?} provider"))?;
        of_providers.extend(components.images);
    }
    let mut all = cert_manager(client, configuration, fetcher).await?;
    all.extend(of_providers);
    all.sort();
    Ok(all)
}

async fn cert_manager(
    client: &Client,
    configuration: &Configuration,
    fetcher: &Fetcher,
) -> Result<Vec<String>> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    if namespaces.get_opt("cert-manager").await?.is_some() {
        return Ok(Vec::new());
    }
    let section = configuration.section("cert-manager");
    let text = |key: &str| section.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let url = configuration.with_environment(text("url").unwrap_or(CERT_MANAGER_URL))?;
    let provider = Provider { name: "cert-manager".to_owned(), provider_type: None, url };
    let repository = Repository::open(&provider, configuration, fetcher).await?;
    let file = repository.components(text("version").unwrap_or(CERT_MANAGER_VERSION)).await?;
    let mut objects = yaml::objects(&file)?;
    alter_images(&mut objects, &configuration.images(), "cert-manager")
        .context(|| "failed to apply image override to the cert-manager manifest".to_owned())?;
    Ok(images(&objects))
}
