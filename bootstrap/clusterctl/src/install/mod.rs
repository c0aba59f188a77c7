//! `init`: installs providers in a management cluster.

mod check;
pub mod companions;
mod objects;
mod one;
mod tools;
pub(crate) mod wait;

use std::time::Duration;

use crate::built_in;
use crate::components::{Components, Wanted};
use crate::configuration::{ByType, ProviderType};
use crate::inventory::{self, Installed};
use crate::repository::Repository;
use crate::{Context, Error, Result};

pub use objects::Objects;
pub use one::{check_one, install_one};
pub use tools::Tools;
pub use wait::is_available;

/// The chosen providers, as `name[:version]`.
pub type Chosen = ByType<Vec<String>>;

/// Chooses no provider of a type.
const NOTHING: &str = "-";

/// How providers are installed.
#[derive(Debug, Clone)]
pub struct Options {
    /// The namespace for all of them; `None` for the namespace in their components.
    pub namespace: Option<String>,
    /// Whether a failed check is an error; otherwise it is only said.
    pub validate: bool,
    /// How long to wait until they run; `None` does not wait.
    pub wait: Option<Duration>,
}

/// Installs the chosen providers. Without any core provider in the cluster, core, bootstrap and control plane have defaults. Returns
/// whether this was the first installation.
///
/// # Errors
/// A provider is not known, a variable is missing, a check fails, or the cluster refuses an object.
pub async fn init(mut chosen: Chosen, options: &Options, tools: &Tools<'_>) -> Result<bool> {
    inventory::installed(tools.client).await?;
    inventory::ensure(tools.client).await?;
    let mut known = inventory::providers(tools.client).await.unwrap_or_default();
    let is_first = inventory::only_name(&known, ProviderType::Core).is_none();
    if is_first {
        chosen.add_defaults();
    }
    let objects = Objects::new(tools);
    let all = built_in::providers(tools.client).await?;
    let (chosen, built_in) = built_in::take(named(chosen)?, &all, tools.configuration)?;
    for found in &built_in {
        (tools.say)(&found.text());
        built_in::record(&found.provider, &known, &objects).await?;
    }
    if chosen.is_empty() && !built_in.is_empty() {
        return Ok(is_first);
    }
    // What only says that a provider is built in, is no installation of it.
    let replaced = built_in::entries(&chosen, &known, tools.client).await?;
    known.retain(|one| !replaced.contains(one));
    (tools.say)("Fetching providers");
    let mut all = Vec::new();
    for (name, provider_type) in chosen {
        let wanted = Wanted { namespace: options.namespace.clone(), raw: false };
        let fetched = fetch(&name, provider_type, tools, &wanted).await;
        let fetched =
            fetched.context(|| format!("failed to get provider components for the {name:?} provider"))?;
        if known.contains(&Installed::of(&fetched)) {
            (tools.say)(&format!("Skipping {}: it is installed already", fetched.provider.label()));
            continue;
        }
        all.push(fetched);
    }
    if let Err(error) = check::check(&all, &known, tools).await {
        if options.validate {
            return Err(error);
        }
        (tools.say)(&format!("Ignoring validation errors: {error}"));
    }
    check::certificates(&all.iter().collect::<Vec<_>>(), &objects).await?;
    for components in &all {
        let repository = Repository::open(&components.provider, tools.configuration, tools.fetcher).await?;
        companions::install(components, &repository, &objects, tools).await?;
        install(components, &objects, tools).await?;
        built_in::forget_replaced(&Installed::of(components), tools.client).await?;
    }
    if let Some(limit) = options.wait {
        wait::until_available(&all, limit, tools).await?;
    }
    Ok(is_first)
}

async fn fetch(
    name: &str,
    provider_type: ProviderType,
    tools: &Tools<'_>,
    wanted: &Wanted,
) -> Result<Components> {
    Components::fetch(name, provider_type, tools.configuration, tools.fetcher, wanted).await
}

/// Creates or updates the objects of a provider, and then its entry in the inventory.
///
/// # Errors
/// The cluster refuses an object.
pub(crate) async fn install(components: &Components, objects: &Objects, tools: &Tools<'_>) -> Result<()> {
    let (provider, version, namespace) = (&components.provider, &components.version, &components.namespace);
    (tools.say)(&format!(
        "Installing provider={:?} version={version:?} targetNamespace={namespace:?}",
        provider.label()
    ));
    for object in &components.objects {
        objects.apply(object).await?;
    }
    objects.apply(&Installed::of(components).entry()).await
}

/// The flags that choose providers, for messages.
pub(crate) const FLAGS: &str =
    "--core, --bootstrap, --control-plane, --infrastructure, --ipam, --extension, --addon";

impl Chosen {
    /// Whether no provider is chosen.
    pub fn is_empty(&self) -> bool {
        self.clone().each().next().is_none()
    }

    /// Each chosen name with its type, in the order of [`ProviderType::ALL`].
    pub(crate) fn each(self) -> impl Iterator<Item = (String, ProviderType)> {
        self.all().flat_map(|(kind, names)| names.into_iter().map(move |name| (name, kind)))
    }

    /// Adds the default providers of a first installation.
    pub fn add_defaults(&mut self) {
        let defaults = [
            (&mut self.core, "cluster-api"),
            (&mut self.bootstrap, "kubeadm"),
            (&mut self.control_plane, "kubeadm"),
        ];
        for (names, default) in defaults {
            if names.is_empty() {
                names.push(default.to_owned());
            }
        }
    }
}

/// Returns the chosen providers in the order of installation, without those that `-` leaves out.
///
/// # Errors
/// The core provider is left out.
pub fn named(chosen: Chosen) -> Result<Vec<(String, ProviderType)>> {
    if chosen.core.iter().any(|name| name == NOTHING) {
        return Err(Error::invalid("the '-' value can not be used for the core provider"));
    }
    Ok(chosen.each().filter(|(name, _)| name != NOTHING).collect())
}
