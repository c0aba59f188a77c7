//! Upstream's end-to-end suite judges our own controllers: its program, its configuration and its templates, in which only the backend of the
//! machines is another one. The runtime extension of the suite runs as a Pod.

pub mod list;
pub mod suite;
pub mod templates;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use futures::StreamExt as _;
use serde_json::{Value, json};
use server::providers::VERSION;

use self::list::Spec;
use self::suite::{Entry, Suite, configuration};
use crate::output::say;
use crate::providers::repository::{self, EXTENSION, PROVIDERS};
use crate::providers::site::Site;

/// How many specs play at once. They mostly wait.
const AT_ONCE: usize = 5;

/// Plays the specs with these names, or those that find most.
///
/// # Errors
/// A spec fails, or has no such name. All of them play first.
pub async fn run(binary: &Path, tools: &Path, folder: &Path, names: &[String]) -> Result<()> {
    let specs = list::select(names)?;
    let clusterctl = repository::configure(tools, folder, &[EXTENSION], &[])?;
    let images = repository::images(tools, folder, &[EXTENSION])?;
    let images = images.to_str().context("a path that is text")?;
    let options = ["--controllers", "all", "--container-images", images];
    let site = Site::start(binary, &clusterctl, folder, "e2e", &options).await?;
    // The suite installs providers where no Deployment has a provider's label.
    site.install(&[EXTENSION], &["--wait-providers"]).await?;
    publish_address(&site).await?;
    let file = folder.join("suite.yaml");
    fs::write(&file, configure(tools, folder)?)?;
    let kubeconfig = site.server.kubeconfig();
    let (kubeconfig, configuration) = (kubeconfig.as_path(), file.as_path());
    let suite = Suite { tools, folder, kubeconfig, configuration, clusterctl: None, direct: true };
    let suite = &suite;
    let plays = specs.into_iter().map(async |spec| (spec, suite.play(spec.name, spec.focus).await));
    let mut plays = futures::stream::iter(plays).buffer_unordered(AT_ONCE);
    let mut failed = Vec::new();
    while let Some((Spec { name, .. }, played)) = plays.next().await {
        match played {
            Ok(took) => say(&format!("passed: {name}, {:.0} s", took.as_secs_f64()))?,
            Err(error) => {
                say(&format!("FAILED: {name}: {error:#}"))?;
                failed.push(name);
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// Publishes the address of the server where kubeadm does it in a management cluster that it has made: a spec reads it there for its machines.
async fn publish_address(site: &Site) -> Result<()> {
    let kubeconfig: Value = serde_saphyr::from_str(&fs::read_to_string(site.server.kubeconfig())?)?;
    let cluster = json!({"name": "", "cluster": kubeconfig["clusters"][0]["cluster"]});
    let published = json!({"apiVersion": "v1", "kind": "Config", "clusters": [cluster]});
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "kube-public", "name": "cluster-info"},
        "data": {"kubeconfig": published.to_string()},
    });
    site.objects.apply(&map).await
}

/// Writes the templates, and returns the configuration of the suite. The versions of the providers are the ones that the server lists.
fn configure(tools: &Path, folder: &Path) -> Result<String> {
    let upstream = tools.join("e2e");
    let templates = folder.join("templates");
    fs::create_dir(&templates)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(upstream.join("templates"))? {
        let path = entry?.path();
        let changed = templates.join(path.file_name().context("a file has a name")?);
        fs::write(&changed, templates::in_memory(&fs::read_to_string(&path)?))?;
        files.push(changed);
    }
    let built_in = PROVIDERS.iter().map(|provider| (provider, VERSION));
    let providers = built_in.chain([(&EXTENSION, EXTENSION.version)]).map(|(provider, version)| {
        let components = provider.url(tools);
        let templates = files.iter().filter(|_| provider.name == "docker").cloned();
        Entry {
            name: provider.name,
            kind: provider.kind,
            version: version.to_owned(),
            files: std::iter::once(components.with_file_name("metadata.yaml")).chain(templates).collect(),
            components,
        }
    });
    let providers: Vec<Entry> = providers.collect();
    let text = fs::read_to_string(upstream.join("docker.yaml"))?;
    Ok(configuration(&text, &providers, &upstream.join("kindnet.yaml"))?.to_string())
}
