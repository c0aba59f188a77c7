//! What some providers need beside themselves, and what their own components do not contain.

use semver::Version;
use serde_json::Value;

use super::objects::Objects;
use super::tools::Tools;
use crate::components::{Components, alter_images};
use crate::network::Request;
use crate::repository::Repository;
use crate::{Context, Error, Result, version, yaml};

/// Something that is installed with a provider.
struct Companion {
    /// The provider's label.
    provider: &'static str,
    /// The first version of the provider that needs it.
    since: Version,
    /// Its name. The provider's repository, or the folder of overrides, may have its manifests as `NAME.yaml`.
    name: &'static str,
    /// Where its manifests are otherwise.
    url: &'static str,
    /// A definition that is there if somebody has installed it.
    definition: &'static str,
}

fn companions() -> [Companion; 1] {
    [Companion {
        provider: "infrastructure-openstack",
        since: Version::new(0, 12, 0),
        name: "openstack-resource-controller",
        url: "https://github.com/k-orc/openstack-resource-controller/releases/latest/download/install.yaml",
        definition: "images.openstack.k-orc.cloud",
    }]
}

/// Installs what a provider needs beside itself. Its kinds get the labels with which `clusterctl move` moves their objects, and its
/// Namespaces that of the provider, so that its Pods run where the provider's do.
///
/// # Errors
/// The manifests cannot be read, or the cluster refuses an object.
pub(super) async fn install(
    components: &Components,
    repository: &Repository,
    objects: &Objects,
    tools: &Tools<'_>,
) -> Result<()> {
    let label = components.provider.label();
    let parsed = version::parse(&components.version);
    for companion in companions().into_iter().filter(|companion| companion.provider == label) {
        if parsed.as_ref().is_some_and(|version| *version < companion.since) {
            continue;
        }
        let name = companion.name;
        if objects.has_definition(companion.definition).await? {
            (tools.say)(&format!("Skipping {name}, which {label} needs: it is installed already"));
            continue;
        }
        (tools.say)(&format!("Installing {name}, which {label} needs"));
        let failed = || format!("failed to install {name}, which {label} needs");
        let text = text(&companion, components, repository, tools).await.context(failed)?;
        let mut all = yaml::objects(&text).context(failed)?;
        alter_images(&mut all, &tools.configuration.images(), name).context(failed)?;
        for object in &mut all {
            mark(object, &label);
            objects.apply(object).await.context(failed)?;
        }
    }
    Ok(())
}

async fn text(
    companion: &Companion,
    components: &Components,
    repository: &Repository,
    tools: &Tools<'_>,
) -> Result<Vec<u8>> {
    let file = format!("{}.yaml", companion.name);
    if let Ok(own) = repository.file(&components.version, &file).await {
        return Ok(own.to_vec());
    }
    let answer = tools.fetcher.get(Request::new(companion.url)).await?;
    if answer.status == 200 {
        return Ok(answer.body.to_vec());
    }
    Err(Error::invalid(format!("{} answers {}", companion.url, answer.status)))
}

/// Adds the labels by which clusterctl and this program know an object of a companion.
pub fn mark(object: &mut Value, provider: &str) {
    let labels: &[(&str, &str)] = match object["kind"].as_str() {
        Some("CustomResourceDefinition") => {
            &[("clusterctl.cluster.x-k8s.io", ""), ("clusterctl.cluster.x-k8s.io/move", "")]
        }
        Some("Namespace") => &[("cluster.x-k8s.io/provider", provider)],
        _ => return,
    };
    for (key, value) in labels {
        object["metadata"]["labels"][*key] = (*value).into();
    }
}
