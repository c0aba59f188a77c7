//! `metal power-on | power-off | reboot`.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use clusterctl::cluster_message;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use metal::names::{POWER, POWERED, REBOOT};
use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};
use server::reboot::RebootRequest;

use crate::output::say;
use crate::target::TargetOptions;

/// The options that select a host.
#[derive(Debug, Args)]
pub struct HostOptions {
    /// Name of the BareMetalHost
    pub name: String,
    /// Its namespace [default: that of the kubeconfig's context]
    #[arg(short = 'n', long)]
    pub namespace: Option<String>,
    /// The management cluster.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// Options of `metal power-on` and `metal power-off`.
#[derive(Debug, Args)]
pub struct PowerOptions {
    /// The host.
    #[command(flatten)]
    pub host: HostOptions,
}

/// Options of `metal reboot`.
#[derive(Debug, Args)]
pub struct RebootOptions {
    /// The host.
    #[command(flatten)]
    pub host: HostOptions,
    /// Cut the power instead of shutting the operating system down
    #[arg(long)]
    pub hard: bool,
    /// Restart even while the host is inspected or provisioned, which then starts again from the beginning
    #[arg(long)]
    pub force: bool,
}

/// Switches a host on or off, or records that a person did it.
///
/// # Errors
/// The host does not exist, or its power is not managed.
pub async fn switch(options: &PowerOptions, on: bool) -> Result<()> {
    let connection = options.host.target.connect().await?;
    let namespace = options.host.namespace.as_deref().unwrap_or(&connection.namespace);
    say(&set_power(&connection.client, namespace, &options.host.name, on).await?)
}

/// Runs `metal reboot`.
///
/// # Errors
/// The host does not exist, or the API refuses the reboot.
pub async fn reboot(options: &RebootOptions) -> Result<()> {
    let connection = options.host.target.connect().await?;
    let namespace = options.host.namespace.as_deref().unwrap_or(&connection.namespace);
    let request = RebootRequest {
        mode: if options.hard { "hard" } else { "soft" }.to_owned(),
        force: options.force,
        ..RebootRequest::default()
    };
    say(&restart(&connection.client, namespace, &options.host.name, &request).await?)
}

/// Returns the host of this name.
pub(super) async fn host(hosts: &Api<BareMetalHost>, namespace: &str, name: &str) -> Result<BareMetalHost> {
    let found = hosts.get_opt(name).await.map_err(|error| anyhow!("{}", cluster_message(&error)))?;
    found.ok_or_else(|| {
        anyhow!(
            "there is no BareMetalHost {namespace}/{name}: `firstlight metal hosts` shows those that there are; -n chooses another namespace"
        )
    })
}

/// Whoever switches the power of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwitchedBy {
    Bmc,
    Hand,
}

/// Returns who switches the power of the host. Fails if its power is not managed.
fn switched_by(host: &BareMetalHost, namespace: &str) -> Result<SwitchedBy> {
    let annotations = host.metadata.annotations.as_ref();
    if host.spec.bmc.as_ref().is_some_and(|bmc| !bmc.address.is_empty()) {
        Ok(SwitchedBy::Bmc)
    } else if annotations.is_some_and(|all| all.contains_key(POWER)) {
        Ok(SwitchedBy::Hand)
    } else {
        bail!(
            "{namespace}/{} has no BMC and its power is not managed: set spec.bmc, or the annotation {POWER}=manual if you switch it yourself",
            host.name_any()
        )
    }
}

/// Sets the wanted power state of a host. Returns the message for the user.
///
/// # Errors
/// The host does not exist, or its power is not managed.
pub async fn set_power(client: &Client, namespace: &str, name: &str, on: bool) -> Result<String> {
    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), namespace);
    let host = host(&hosts, namespace, name).await?;
    let word = if on { "on" } else { "off" };
    let (patch, said) = match switched_by(&host, namespace)? {
        SwitchedBy::Bmc => {
            (json!({ "spec": { "online": on } }), format!("{namespace}/{name} is being switched {word}\n"))
        }
        SwitchedBy::Hand => {
            let patch = json!({ "metadata": { "annotations": { POWERED: word } } });
            (patch, format!("noted that {namespace}/{name} was switched {word}\n"))
        }
    };
    write(&hosts, namespace, name, patch).await?;
    Ok(said)
}

/// Restarts a host through its subresource or, if that is not served, by Metal3's annotation. Returns the message for the user.
///
/// # Errors
/// The host does not exist, or the API refuses the reboot.
pub async fn restart(
    client: &Client,
    namespace: &str,
    name: &str,
    request: &RebootRequest,
) -> Result<String> {
    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), namespace);
    let switched_by = switched_by(&host(&hosts, namespace, name).await?, namespace)?;
    let path = format!("{}/{name}/reboot", hosts.resource_url());
    let post = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
    let answer = client.request::<Value>(post.body(serde_json::to_vec(request)?)?).await;
    match answer {
        Ok(_) => {}
        // The host exists, so 404 means that the subresource is not served.
        Err(kube::Error::Api(status)) if status.code == 404 => {
            let patch = json!({ "metadata": { "annotations": { REBOOT: request.annotation() } } });
            write(&hosts, namespace, name, patch).await?;
        }
        Err(error) => bail!("cannot restart {namespace}/{name}: {}", cluster_message(&error)),
    }
    Ok(match switched_by {
        SwitchedBy::Bmc => format!("{namespace}/{name} is being restarted\n"),
        SwitchedBy::Hand => format!(
            "{namespace}/{name} has no BMC: if an agent runs on it, the agent restarts it; otherwise `firstlight metal hosts` says when to \
             switch it off and on\n"
        ),
    })
}

async fn write(hosts: &Api<BareMetalHost>, namespace: &str, name: &str, patch: Value) -> Result<()> {
    let patched = hosts.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
    patched
        .map(drop)
        .map_err(|error| anyhow!("cannot change {namespace}/{name}: {}", cluster_message(&error)))
}
