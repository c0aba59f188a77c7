//! The known providers and where their files are.

use serde_json::Value;

use super::Configuration;
use crate::{Context, Error, Result};

/// Providers that are known without configuration.
const KNOWN: &str = include_str!("providers.txt");

/// The types of providers, in the order in which they are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProviderType {
    /// Provides Cluster API itself.
    Core,
    /// Creates bootstrap data.
    Bootstrap,
    /// Manages control planes.
    ControlPlane,
    /// Creates machines.
    Infrastructure,
    /// Assigns IP addresses.
    Ipam,
    /// Adds runtime extensions.
    RuntimeExtension,
    /// Installs add-ons.
    Addon,
}

impl ProviderType {
    /// All types, in this order.
    pub const ALL: [Self; 7] = [
        Self::Core,
        Self::Bootstrap,
        Self::ControlPlane,
        Self::Infrastructure,
        Self::Ipam,
        Self::RuntimeExtension,
        Self::Addon,
    ];

    /// The name that the inventory and the configuration use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "CoreProvider",
            Self::Bootstrap => "BootstrapProvider",
            Self::ControlPlane => "ControlPlaneProvider",
            Self::Infrastructure => "InfrastructureProvider",
            Self::Ipam => "IPAMProvider",
            Self::RuntimeExtension => "RuntimeExtensionProvider",
            Self::Addon => "AddonProvider",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Core => "",
            Self::Bootstrap => "bootstrap-",
            Self::ControlPlane => "control-plane-",
            Self::Infrastructure => "infrastructure-",
            Self::Ipam => "ipam-",
            Self::RuntimeExtension => "runtime-extension-",
            Self::Addon => "addon-",
        }
    }

    /// Returns the type of this name, such as `InfrastructureProvider`.
    pub fn called(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// One value for each type of provider.
#[derive(Debug, Clone, Default)]
pub struct ByType<T> {
    /// `--core`
    pub core: T,
    /// `--bootstrap`
    pub bootstrap: T,
    /// `--control-plane`
    pub control_plane: T,
    /// `--infrastructure`
    pub infrastructure: T,
    /// `--ipam`
    pub ipam: T,
    /// `--runtime-extension`
    pub runtime_extension: T,
    /// `--addon`
    pub addon: T,
}

impl<T> ByType<T> {
    /// All values, in the order of [`ProviderType::ALL`].
    pub fn all(self) -> impl Iterator<Item = (ProviderType, T)> {
        let values = [
            self.core,
            self.bootstrap,
            self.control_plane,
            self.infrastructure,
            self.ipam,
            self.runtime_extension,
            self.addon,
        ];
        ProviderType::ALL.into_iter().zip(values)
    }
}

/// A provider and its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name, such as `aws`.
    pub name: String,
    /// Its type; `None` for something that is fetched like a provider but is not one, such as cert-manager.
    pub provider_type: Option<ProviderType>,
    /// The address of its components.
    pub url: String,
}

impl Provider {
    /// The value of the label `cluster.x-k8s.io/provider`: `infrastructure-aws`.
    pub fn label(&self) -> String {
        format!("{}{}", self.provider_type.map_or("", ProviderType::prefix), self.name)
    }

    /// The folder of [`Self::url`] with its final slash, and the file.
    pub fn split_url(&self) -> (&str, &str) {
        self.url.split_at(self.url.rfind('/').map_or(0, |slash| slash + 1))
    }

    /// The usual name of the file with its components: `infrastructure-components.yaml`.
    pub fn components_file(&self) -> String {
        let prefix = self.provider_type.map_or("", ProviderType::prefix).trim_end_matches('-');
        format!("{}-components.yaml", if prefix.is_empty() { "core" } else { prefix })
    }

    /// Name of the type, such as `InfrastructureProvider`; empty without a type.
    pub fn type_name(&self) -> &'static str {
        self.provider_type.map_or("", ProviderType::name)
    }
}

impl Configuration {
    /// All known providers and those of the file, sorted by type and name. An entry of the file replaces the known provider of the same
    /// name and type.
    ///
    /// # Errors
    /// An entry of the file is invalid.
    pub fn providers(&self) -> Result<Vec<Provider>> {
        let mut providers: Vec<Provider> = KNOWN.lines().filter_map(known).collect();
        for entry in self.section("providers").as_array().into_iter().flatten() {
            let provider = self.provider_of(entry)?;
            providers.retain(|known| {
                (&known.name, known.provider_type) != (&provider.name, provider.provider_type)
            });
            providers.push(provider);
        }
        providers.sort_by(|a, b| (a.provider_type, &a.name).cmp(&(b.provider_type, &b.name)));
        Ok(providers)
    }

    /// The provider of this name and type.
    ///
    /// # Errors
    /// No such provider is known; or as [`Self::providers`].
    pub fn provider(&self, name: &str, provider_type: ProviderType) -> Result<Provider> {
        let mut providers = self.providers()?.into_iter();
        let found = providers.find(|known| known.name == name && known.provider_type == Some(provider_type));
        found.ok_or_else(|| Error::invalid(format!(
            "failed to get configuration for the {} with name {name}. Please check the provider name and/or add configuration for new providers using the .clusterctl config file",
            provider_type.name()
        )))
    }

    /// Whether a provider of this name and type is known.
    pub fn knows(&self, name: &str, provider_type: ProviderType) -> bool {
        self.provider(name, provider_type).is_ok()
    }

    /// Whether the file says where a provider of this name and type comes from.
    pub fn names(&self, name: &str, provider_type: ProviderType) -> bool {
        let is_it = |entry: &Value| entry["name"] == name && entry["type"] == provider_type.name();
        self.section("providers").as_array().is_some_and(|entries| entries.iter().any(is_it))
    }

    fn provider_of(&self, entry: &Value) -> Result<Provider> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, type_name) = (text("name"), text("type"));
        let failed = || format!("unable to evaluate url: {:?}", text("url"));
        let url = self.with_environment(text("url")).context(failed)?;
        let in_file = || {
            format!(
                "error validating configuration for the {type_name} with name {name}. Please fix the providers value in clusterctl configuration file"
            )
        };
        let provider_type = ProviderType::called(type_name);
        check(name, &url, type_name, provider_type).map_err(Error::invalid).context(in_file)?;
        Ok(Provider { name: name.to_owned(), provider_type, url })
    }
}

fn known(line: &str) -> Option<Provider> {
    let mut words = line.split_whitespace();
    let (name, provider_type, url) = (words.next()?, words.next()?, words.next()?);
    let provider_type = Some(ProviderType::called(provider_type)?);
    Some(Provider { name: name.to_owned(), provider_type, url: url.to_owned() })
}

fn check(name: &str, url: &str, type_name: &str, provider_type: Option<ProviderType>) -> Result<(), String> {
    if name.is_empty() {
        return Err("name value cannot be empty".to_owned());
    }
    if name != name.to_lowercase() {
        return Err(format!("provider name {name} must be in lower case"));
    }
    if (name == "cluster-api") != (provider_type == Some(ProviderType::Core)) {
        return Err(format!(
            "name cluster-api must be used with the CoreProvider type (name: {name}, type: {type_name})"
        ));
    }
    let problems = machinery::names::dns1123_subdomain(name);
    if !problems.is_empty() {
        return Err(format!("invalid provider name: {}", problems.join("; ")));
    }
    if url.is_empty() {
        return Err("provider URL value cannot be empty".to_owned());
    }
    if provider_type.is_none() {
        return Err(format!(
            "invalid provider type. Allowed values are [{}]",
            ProviderType::ALL.map(ProviderType::name).join(" ")
        ));
    }
    Ok(())
}

/// Parses `name[:version]`; the name is returned in lower case.
///
/// # Errors
/// The text has another form, or the name is invalid.
pub fn parse_name(text: &str) -> Result<(String, Option<String>)> {
    let form = format!("invalid provider name {text:?}. Provider name should be in the form name[:version]");
    let parts: Vec<&str> = text.split(':').collect();
    let (name, version) = match parts.as_slice() {
        ["", ..] if parts.len() <= 2 => {
            return Err(Error::invalid(format!("{form} and name cannot be empty")));
        }
        [name] => (name.to_lowercase(), None),
        [_, ""] => return Err(Error::invalid(format!("{form} and version cannot be empty"))),
        [name, version] => (name.to_lowercase(), Some((*version).to_owned())),
        _ => return Err(Error::invalid(form)),
    };
    let problems = machinery::names::dns1123_label(&name);
    if !problems.is_empty() {
        return Err(Error::invalid(format!("{form} and the name should be valid: {}", problems.join("; "))));
    }
    Ok((name, version))
}
