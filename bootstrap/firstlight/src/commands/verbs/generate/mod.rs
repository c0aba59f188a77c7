//! `generate cluster | provider | yaml`.

mod built_in;
mod cluster;

use std::path::Path;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use clusterctl::components::{self, Components};
use clusterctl::configuration::{ByType, ProviderType};
use clusterctl::generate;
use clusterctl::template::{Template, Wanted};
use server::data_directory::write_private;

use super::tools::Tools;
use crate::output::{say, say_document};

/// Commands under `generate`.
#[derive(Debug, Subcommand)]
pub enum Generate {
    /// The manifests of a cluster, from a template
    Cluster(Box<cluster::ClusterOptions>),
    /// The components of a provider
    Provider(ProviderOptions),
    /// The objects of any template
    Yaml(YamlOptions),
}

/// Options of `generate provider`.
#[derive(Debug, Args)]
#[group(id = "provider-options")]
pub struct ProviderOptions {
    #[command(flatten)]
    providers: ProviderChoice,
    /// Namespace to install in [default: that of the components]
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    target_namespace: Option<String>,
    /// Print a description of the components instead of their manifests
    #[arg(long)]
    describe: bool,
    /// Do not substitute variables
    #[arg(long)]
    raw: bool,
    /// File to write to
    #[arg(long, value_name = "FILE")]
    write_to: Option<String>,
}

/// The options that select one provider, as `name[:version]`.
#[derive(Debug, Args)]
pub struct ProviderChoice {
    /// Core provider, for example cluster-api:v1.14.0
    #[arg(long, value_name = "PROVIDER")]
    core: Option<String>,
    /// Bootstrap provider
    #[arg(short = 'b', long, value_name = "PROVIDER")]
    bootstrap: Option<String>,
    /// Control plane provider
    #[arg(short = 'c', long, value_name = "PROVIDER")]
    control_plane: Option<String>,
    /// Infrastructure provider
    #[arg(short = 'i', long, value_name = "PROVIDER")]
    infrastructure: Option<String>,
    /// IPAM provider
    #[arg(long, value_name = "PROVIDER")]
    ipam: Option<String>,
    /// Runtime extension provider
    #[arg(long, value_name = "PROVIDER")]
    runtime_extension: Option<String>,
    /// Add-on provider
    #[arg(long, value_name = "PROVIDER")]
    addon: Option<String>,
}

/// Options of `generate yaml`.
#[derive(Debug, Args)]
pub struct YamlOptions {
    /// Template: a file, a URL, or - for standard input
    #[arg(long, value_name = "URL", default_value = "-")]
    from: String,
    /// Print the template's variables
    #[arg(long)]
    list_variables: bool,
}

/// Runs `generate`.
///
/// # Errors
/// The template is missing or invalid, or a variable has no value.
pub async fn run(generate: Generate, tools: Tools) -> Result<()> {
    match generate {
        Generate::Cluster(options) => cluster::run(*options, tools).await,
        Generate::Provider(options) => provider(options, &tools).await,
        Generate::Yaml(options) => yaml(&options, &tools).await,
    }
}

async fn provider(options: ProviderOptions, tools: &Tools) -> Result<()> {
    let (name, provider_type) = options.providers.only()?;
    let wanted = components::Wanted {
        namespace: options.target_namespace.filter(|namespace| !namespace.is_empty()),
        raw: options.raw || options.describe,
    };
    let components =
        Components::generate(&name, provider_type, &tools.configuration, &tools.fetcher, &wanted).await?;
    if options.describe {
        return say(&components.described());
    }
    write(&components.text()?, options.write_to.as_deref())
}

async fn yaml(options: &YamlOptions, tools: &Tools) -> Result<()> {
    let text = generate::fetch(&options.from, &tools.configuration, &tools.fetcher).await?;
    let wanted = Wanted { namespace: None, variables_only: options.list_variables };
    let template = Template::read(&text, &tools.configuration, &wanted)?;
    match options.list_variables {
        true => say(&template.list()),
        false => say_document(&template.text()?),
    }
}

fn write(text: &str, file: Option<&str>) -> Result<()> {
    match file.map(str::trim).filter(|file| !["", "-"].contains(file)) {
        Some(file) => {
            write_private(Path::new(file), text.as_bytes()).context("failed to write to destination file")
        }
        None => say_document(text),
    }
}

impl ProviderChoice {
    fn only(self) -> Result<(String, ProviderType)> {
        const NAMES: &str =
            "--core, --bootstrap, --control-plane, --infrastructure, --ipam, --extension, --addon";
        let by_type = ByType {
            core: self.core,
            bootstrap: self.bootstrap,
            control_plane: self.control_plane,
            infrastructure: self.infrastructure,
            ipam: self.ipam,
            runtime_extension: self.runtime_extension,
            addon: self.addon,
        };
        let mut named =
            by_type.all().filter_map(|(kind, name)| Some((name.filter(|name| !name.is_empty())?, kind)));
        let first = named.next().with_context(|| format!("at least one of {NAMES} should be set"))?;
        anyhow::ensure!(named.next().is_none(), "only one of {NAMES} should be set");
        Ok(first)
    }
}
