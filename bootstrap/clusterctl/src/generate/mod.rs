//! `generate`: templates of clusters, from any source.

mod classes;
mod list;
mod source;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;

pub use list::list_variables;
pub use source::fetch;

use crate::configuration::{Configuration, ProviderType, parse_name};
use crate::connection::Connection;
use crate::repository::{Fetcher, Repository};
use crate::template::{Template, Wanted};
use crate::{Context, Error, Result, built_in, inventory};

/// Selects the source of a cluster's template.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// `--infrastructure`: `name[:version]`.
    pub infrastructure: Option<String>,
    /// `--flavor`
    pub flavor: Option<String>,
    /// `--from`
    pub from: Option<String>,
    /// `--from-config-map`
    pub config_map: Option<String>,
    /// `--from-config-map-namespace`
    pub config_map_namespace: Option<String>,
    /// `--from-config-map-key`
    pub config_map_key: Option<String>,
    /// The template if the options select none. clusterctl has no such template.
    pub fallback: Option<&'static str>,
}

impl Sources {
    /// Returns whether an option selects a provider's repository.
    fn is_repository(&self) -> bool {
        self.infrastructure.is_some() || self.flavor.is_some()
    }

    /// Returns whether an option selects a ConfigMap.
    fn is_config_map(&self) -> bool {
        self.config_map.is_some() || self.config_map_namespace.is_some() || self.config_map_key.is_some()
    }

    /// Returns whether an option selects the template.
    pub fn is_selected(&self) -> bool {
        self.is_repository() || self.is_config_map() || self.from.is_some()
    }
}

/// Settings of the cluster.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Name of the cluster.
    pub name: String,
    /// `--target-namespace`
    pub namespace: Option<String>,
    /// `--kubernetes-version`
    pub kubernetes_version: Option<String>,
    /// `--control-plane-machine-count`
    pub control_plane_machines: Option<i64>,
    /// `--worker-machine-count`
    pub worker_machines: Option<i64>,
    /// Whether only the template's variables are wanted.
    pub variables_only: bool,
    /// The source of the template.
    pub sources: Sources,
}

/// Returns the template of a cluster. `connection` is the management cluster, or the reason why there is none.
///
/// # Errors
/// Several sources are given, a value is invalid, or the template does not exist or is invalid.
pub async fn cluster(
    options: &Options,
    mut configuration: Configuration,
    connection: Result<Connection>,
    fetcher: &Fetcher,
) -> Result<Template> {
    let sources = &options.sources;
    let (repository, config_map) = (sources.is_repository(), sources.is_config_map());
    if usize::from(repository) + usize::from(config_map) + usize::from(sources.from.is_some()) > 1 {
        return Err(Error::invalid("invalid cluster template source: only one template can be used at time"));
    }
    let namespace = match &options.namespace {
        Some(namespace) => namespace.clone(),
        None if connection.is_err() && sources.fallback.is_some() => "default".to_owned(),
        None => current_namespace(&connection).await?,
    };
    set_variables(&mut configuration, options, &namespace)?;
    let wanted = Wanted { namespace: Some(namespace), variables_only: options.variables_only };
    if let Some(address) = &sources.from {
        let text = fetch(address, &configuration, fetcher).await?;
        return Template::read(&text, &configuration, &wanted);
    }
    if config_map {
        let text = from_config_map(sources, &connection?).await?;
        return Template::read(text.as_bytes(), &configuration, &wanted);
    }
    if let Some(fallback) = sources.fallback.filter(|_| !sources.is_selected()) {
        return Template::read(fallback.as_bytes(), &configuration, &wanted);
    }
    from_repository(sources, &configuration, connection, fetcher, &wanted).await
}

/// The namespace of the kubeconfig's context, if the server answers.
async fn current_namespace(connection: &Result<Connection>) -> Result<String> {
    let unavailable = |reason: &dyn std::fmt::Display| {
        Error::invalid(format!(
            "management cluster not available. Cannot auto-discover target namespace. Please specify a target namespace: {reason}"
        ))
    };
    let connection = connection.as_ref().map_err(|error| unavailable(error))?;
    connection.client.apiserver_version().await.map_err(|error| unavailable(&error))?;
    Ok(connection.namespace.clone())
}

/// Sets the options as variables that the template can use.
fn set_variables(configuration: &mut Configuration, options: &Options, namespace: &str) -> Result<()> {
    let problems = machinery::names::dns1123_label(namespace);
    if !problems.is_empty() {
        return Err(Error::invalid(format!("invalid target-namespace: {}", problems.join("; "))));
    }
    configuration.set("NAMESPACE", namespace);
    let problems = machinery::names::dns1123_subdomain(&options.name);
    if !problems.is_empty() {
        return Err(Error::invalid(format!("invalid cluster name: {}", problems.join("; "))));
    }
    configuration.set("CLUSTER_NAME", &options.name);
    if let Some(version) = &options.kubernetes_version {
        if crate::version::parse(version).is_none() {
            return Err(Error::invalid("invalid KubernetesVersion. Please use a semantic version number"));
        }
        configuration.set("KUBERNETES_VERSION", version);
    }
    let counts = [
        ("CONTROL_PLANE_MACHINE_COUNT", options.control_plane_machines, 1, "ControlPlaneMachineCount"),
        ("WORKER_MACHINE_COUNT", options.worker_machines, 0, "WorkerMachineCount"),
    ];
    for (name, option, least, words) in counts {
        let count = match (option, configuration.variable(name)) {
            (Some(count), _) => count,
            (None, None) => least,
            (None, Some(text)) => {
                text.parse().map_err(|_| Error::invalid(format!("invalid value for {name} set")))?
            }
        };
        if count < least {
            return Err(Error::invalid(format!(
                "invalid {words}. Please use a number greater than or equal to {least}"
            )));
        }
        configuration.set(name, count.to_string());
    }
    Ok(())
}

async fn from_config_map(sources: &Sources, connection: &Connection) -> Result<String> {
    let namespace = sources.config_map_namespace.as_ref().unwrap_or(&connection.namespace);
    let name = sources.config_map.as_deref().filter(|name| !name.is_empty());
    let name = name
        .ok_or_else(|| Error::invalid("invalid GetFromConfigMap operation: missing configMapName value"))?;
    let key = sources.config_map_key.as_deref().unwrap_or("template");
    let api: Api<ConfigMap> = Api::namespaced(connection.client.clone(), namespace);
    let found = api.get(name).await.context(|| format!("error reading ConfigMap {namespace}/{name}"))?;
    let text = found.data.and_then(|mut data| data.remove(key));
    text.ok_or_else(|| {
        Error::invalid(format!("the ConfigMap {namespace}/{name} does not have the {key:?} data key"))
    })
}

async fn from_repository(
    sources: &Sources,
    configuration: &Configuration,
    connection: Result<Connection>,
    fetcher: &Fetcher,
    wanted: &Wanted,
) -> Result<Template> {
    let (name, version) = chosen(sources, &connection).await?;
    let provider = configuration.provider(&name, ProviderType::Infrastructure)?;
    let repository = Repository::open(&provider, configuration, fetcher).await?;
    let file = match &sources.flavor {
        Some(flavor) if !flavor.is_empty() => format!("cluster-template-{flavor}.yaml"),
        _ => "cluster-template.yaml".to_owned(),
    };
    let text = repository.template(&version, &file).await?;
    let template = Template::read(&text, configuration, wanted)?;
    let place = classes::Place { repository: &repository, version: &version, configuration, wanted };
    match classes::missing(&template, &place, connection.ok().as_ref()).await? {
        Some(classes) => Ok(template.behind(classes)),
        None => Ok(template),
    }
}

/// The infrastructure provider and its version: those of the options, else the only ones in the inventory, or the only ones in it that
/// somebody has chosen.
async fn chosen(sources: &Sources, connection: &Result<Connection>) -> Result<(String, String)> {
    let inventory = async |doing: &str| -> Result<Vec<inventory::Installed>> {
        let connection = connection.as_ref().map_err(|error| {
            Error::invalid(format!("management cluster not available. Cannot auto-discover {doing}: {error}"))
        })?;
        inventory::providers(&connection.client).await
    };
    let infrastructure = match sources.infrastructure.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => {
            let doing = "default infrastructure provider. Please specify an infrastructure provider";
            let known = inventory(doing).await?;
            let name = match (inventory::only_name(&known, ProviderType::Infrastructure), connection) {
                (None, Ok(connection)) => {
                    let chosen = built_in::without_listed(known, &connection.client).await?;
                    inventory::only_name(&chosen, ProviderType::Infrastructure)
                }
                (name, _) => name,
            };
            name.ok_or_else(|| {
                Error::invalid("failed to identify the default infrastructure provider. Please specify an infrastructure provider")
            })?
        }
    };
    let (name, version) = parse_name(&infrastructure)?;
    if let Some(version) = version {
        return Ok((name, version));
    }
    let doing = format!("version for the provider {name:?} automatically. Please specify a version");
    let found = inventory::only_version(&inventory(&doing).await?, &name, ProviderType::Infrastructure);
    let version = found.ok_or_else(|| {
        Error::invalid(format!(
            "Unable to identify version for the provider {name:?} automatically. Please specify a version"
        ))
    })?;
    Ok((name, version))
}
