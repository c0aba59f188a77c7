//! `metal import`.

mod objects;
mod read;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use clusterctl::cluster_message;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use schemas::metal3::BareMetalHost;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::output::say;
use crate::target::TargetOptions;
use objects::Line;

/// The end of the text of `--help`.
pub const HELP: &str = "Columns:
  name                            of the host
  namespace                       [default: -n, else that of the kubeconfig's context]
  mac                             MAC address of the interface through which it boots
  address, username, password     of its BMC, such as redfish://192.0.2.7/redfish/v1/Systems/1
  disableCertificateVerification  true: any certificate of the BMC will do
  power                           without a BMC: manual [default] or wake-on-lan
  bootMode                        UEFI [default], UEFISecureBoot or legacy
  architecture                    x86_64 or aarch64
  rootDevice                      such as /dev/disk/by-path/pci-0000:01:00.0
  online                          false: leave it off [default: true]
  description                     a note for people

Values are separated by commas or semicolons. Hosts that exist as the list has them stay unchanged.

Example:
  name,mac,address,username,password
  node-1,52:54:00:12:34:56,redfish://192.0.2.7/redfish/v1/Systems/1,admin,secret
  node-2,52:54:00:12:34:57,,,";

/// Options of `metal import`.
#[derive(Debug, Args)]
pub struct ImportOptions {
    /// The list: a file that ends in .csv, .yaml, .yml or .json
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Namespace of hosts for which the list gives no namespace [default: that of the kubeconfig's context]
    #[arg(short = 'n', long)]
    pub namespace: Option<String>,
    /// Only check the list; create nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The management cluster.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// Runs `metal import`.
///
/// # Errors
/// All problems of the list, with file and line; no object was created then.
pub async fn run(options: &ImportOptions) -> Result<()> {
    let connection = options.target.connect().await?;
    let namespace = options.namespace.as_deref().unwrap_or(&connection.namespace);
    let file = options.file.display().to_string();
    let text = match std::fs::read_to_string(&options.file) {
        Ok(text) => text,
        Err(error) => bail!("cannot read {file}: {error}"),
    };
    say(&import(&connection.client, namespace, &file, &text, options.dry_run).await?)
}

/// Creates the objects of the list `text` that do not exist, all or none. Returns the message for the user.
///
/// # Errors
/// All problems of the list, with file and line; no object was created then.
pub async fn import(
    client: &Client,
    namespace: &str,
    file: &str,
    text: &str,
    dry_run: bool,
) -> Result<String> {
    let entries = read::read(file, text)?;
    let (lines, mut problems) = objects::lines(entries, namespace);
    let mut known = BTreeSet::new();
    if problems.is_empty() {
        (known, problems) = existing(client, &lines).await?;
    }
    let is_new = |line: &&Line| !known.contains(&line.number);
    for line in lines.iter().filter(is_new) {
        if let Err(problem) = create(client, line, true).await {
            problems.push((line.number, problem));
        }
    }
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        let texts: Vec<String> =
            problems.into_iter().map(|(line, problem)| format!("{file}:{line}: {problem}")).collect();
        bail!("nothing was created:\n{}", texts.join("\n"));
    }
    if dry_run {
        let unchanged =
            if known.is_empty() { String::new() } else { format!(", {} are unchanged", known.len()) };
        return Ok(format!("{} hosts could be created{unchanged}\n", lines.len() - known.len()));
    }
    let mut created = Vec::new();
    for line in lines.iter().filter(is_new) {
        match create(client, line, false).await {
            Ok(done) => created.push(done),
            Err(problem) => {
                let left = undo(client, created).await;
                bail!("{file}:{}: {problem}; {left}", line.number);
            }
        }
    }
    let became = |line: &Line| if known.contains(&line.number) { "unchanged" } else { "created" };
    let told = lines.iter().map(|line| format!("{} {}\n", line.host(), became(line)));
    Ok(told.collect())
}

/// Returns the numbers of the lines whose hosts exist as the lines have them, and the lines whose hosts exist otherwise, or whose MAC address is
/// that of another host.
async fn existing(client: &Client, lines: &[Line]) -> Result<(BTreeSet<usize>, Vec<(usize, String)>)> {
    let hosts: Api<BareMetalHost> = Api::all(client.clone());
    let known = match hosts.list(&ListParams::default()).await {
        Ok(known) => known,
        Err(error) => bail!("cannot read the hosts that there are: {}", cluster_message(&error)),
    };
    let (mut same, mut problems) = (BTreeSet::new(), Vec::new());
    for line in lines {
        let is_it = |host: &&BareMetalHost| {
            host.name_any() == line.host.name_any() && host.namespace() == line.host.namespace()
        };
        if let Some(host) = known.iter().find(is_it) {
            let secret = secret(client, line).await?;
            let differences = line.differences(host, secret.as_ref());
            if differences.is_empty() {
                same.insert(line.number);
            } else {
                let (name, fields) = (line.host(), differences.join(", "));
                let problem = format!(
                    "the host {name} is there with another {fields}: change it with kubectl edit, or delete it first"
                );
                problems.push((line.number, problem));
            }
            continue;
        }
        let mac = line.host.spec.boot_mac_address.as_deref().unwrap_or_default();
        let has_it = |host: &&BareMetalHost| {
            host.spec.boot_mac_address.as_deref().is_some_and(|other| other.eq_ignore_ascii_case(mac))
        };
        if let Some(host) = known.iter().find(has_it) {
            let (namespace, name) = (host.namespace().unwrap_or_default(), host.name_any());
            problems
                .push((line.number, format!("the MAC address {mac} is that of {namespace}/{name} already")));
        }
    }
    Ok((same, problems))
}

/// Returns the Secret that exists with the name of the one of a line.
async fn secret(client: &Client, line: &Line) -> Result<Option<Secret>> {
    let Some(wanted) = &line.secret else { return Ok(None) };
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &wanted.namespace().unwrap_or_default());
    match secrets.get_opt(&wanted.name_any()).await {
        Ok(found) => Ok(found),
        Err(error) => bail!("cannot read the Secrets that there are: {}", cluster_message(&error)),
    }
}

/// The objects that were created for a line.
struct Created {
    secret: Option<Secret>,
    host: Option<BareMetalHost>,
}

/// Creates the objects of a line. If the host cannot be created, its Secret is deleted again.
async fn create(client: &Client, line: &Line, dry_run: bool) -> Result<Created, String> {
    let secret = match &line.secret {
        Some(secret) => Some(post(client, secret, dry_run).await?),
        None => None,
    };
    match post(client, &line.host, dry_run).await {
        Ok(host) => Ok(Created { secret, host: Some(host) }),
        Err(problem) if dry_run => Err(problem),
        Err(problem) => {
            let left = undo(client, vec![Created { secret, host: None }]).await;
            Err(format!("{problem}; {left}"))
        }
    }
}

async fn post<T>(client: &Client, object: &T, dry_run: bool) -> Result<T, String>
where
    T: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + Serialize
        + DeserializeOwned,
{
    let api: Api<T> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    let parameters = PostParams { dry_run, ..PostParams::default() };
    let created = api.create(&parameters, object).await;
    created.map_err(|error| format!("{} {}: {}", T::kind(&()), object.name_any(), cluster_message(&error)))
}

/// Deletes the created objects, the newest first. Returns a message about those that could not be deleted.
async fn undo(client: &Client, created: Vec<Created>) -> String {
    let mut left = Vec::new();
    for one in created.into_iter().rev() {
        if let Some(host) = one.host {
            left.extend(delete(client, &host).await);
        }
        if let Some(secret) = one.secret {
            left.extend(delete(client, &secret).await);
        }
    }
    match left.is_empty() {
        true => "what was created before was deleted again".to_owned(),
        false => format!("these were created before and could not be deleted again: {}", left.join(", ")),
    }
}

async fn delete<T>(client: &Client, object: &T) -> Option<String>
where
    T: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let api: Api<T> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    let preconditions = Preconditions { uid: object.uid(), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    let deleted = api.delete(&object.name_any(), &parameters).await;
    deleted.is_err().then(|| format!("{} {}", T::kind(&()), object.name_any()))
}
