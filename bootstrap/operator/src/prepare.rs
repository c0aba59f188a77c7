//! Makes the components of a provider: fetched, with variables, and changed as the object wants.

use std::io::Read;

use clusterctl::components::{Components, Wanted};
use clusterctl::configuration::{Configuration, Provider};
use clusterctl::install::{Tools, check_one};
use clusterctl::repository::{COMPONENTS, METADATA, Repository, Supplied};
use clusterctl::version;
use flate2::read::GzDecoder;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;

use crate::conditions::{FETCH_FAILED, INCOMPATIBLE, UNKNOWN_PROVIDER};
use crate::customize;
use crate::failure::Failure;
use crate::limits::COMPONENTS_MAX;
use crate::names::{COMPONENTS_KEY, COMPRESSED, CONFIG_MAP_VERSION, MANIFESTS_KEY, METADATA_KEY};
use crate::observe::Observed;
use crate::referred::Referred;

/// Components that can be installed.
pub(crate) struct Prepared {
    pub components: Components,
    pub repository: Repository,
    /// The contract of Cluster API that they implement.
    pub contract: String,
}

/// Returns clusterctl's configuration with the variables of the object.
pub(crate) fn configured(seen: &Observed, configuration: &Configuration) -> Configuration {
    let mut configuration = configuration.clone();
    for (name, value) in seen.variables() {
        configuration.set(name, String::from_utf8_lossy(value));
    }
    configuration
}

/// Fetches and changes the components of `version`, or else of the wanted one.
///
/// # Errors
/// The files are not there, a variable is missing, a change does not fit, or the components cannot be installed.
pub(crate) async fn prepare(
    seen: &Observed,
    version: Option<&str>,
    tools: &Tools<'_>,
) -> Result<Prepared, Failure> {
    let repository = repository(seen, tools).await?;
    let object = &seen.object;
    let installed = seen.entry().map(|entry| entry.version.as_str());
    let wanted = version.or(object.version()).or(installed).unwrap_or(&repository.version).to_owned();
    let fetched = repository.components(&wanted).await;
    let mut text = fetched.map_err(|error| Failure::passing(FETCH_FAILED, &error))?.to_vec();
    if let Some(manifests) = manifests(seen)? {
        text.extend_from_slice(b"\n---\n");
        text.extend_from_slice(manifests.as_bytes());
    }
    let how = Wanted { namespace: Some(object.namespace.clone()), raw: false };
    let components = Components::read(&text, &repository.provider, &wanted, tools.configuration, &how);
    let mut components = components.map_err(|error| Failure::new(FETCH_FAILED, error.to_string()))?;
    customize::apply(&object.spec, &mut components)?;
    let checked = check_one(&components, &repository, tools).await;
    let contract = checked.map_err(|error| Failure::passing(INCOMPATIBLE, &error))?;
    Ok(Prepared { components, repository, contract })
}

/// Opens the place from which the object wants the files.
async fn repository(seen: &Observed, tools: &Tools<'_>) -> Result<Repository, Failure> {
    let object = &seen.object;
    let source = object.spec.fetch_config.clone().unwrap_or_default();
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if source.selector.is_some() {
        return Ok(Repository::supplied(&object.provider, supplied(&seen.maps)?, tools.fetcher));
    }
    let provider = match (given(&source.url), given(&source.oci)) {
        (Some(url), _) => Provider { url: completed(&url, seen), ..object.provider.clone() },
        (None, Some(oci)) => Provider { url: artifact(&oci, seen), ..object.provider.clone() },
        (None, None) => {
            let known = tools.configuration.provider(&object.provider.name, object.kind());
            known.map_err(|error| Failure::new(UNKNOWN_PROVIDER, error.to_string()))?
        }
    };
    let opened = Repository::open(&provider, tools.configuration, tools.fetcher).await;
    opened.map_err(|error| Failure::passing(FETCH_FAILED, &error))
}

/// The address of a repository with the version and the file that clusterctl needs. Upstream's objects name only the releases of a project.
fn completed(url: &str, seen: &Observed) -> String {
    let url = url.trim_end_matches('/');
    if !url.ends_with("/releases") {
        return url.to_owned();
    }
    let release = seen.object.version().unwrap_or("latest");
    format!("{url}/{release}/{}", seen.object.provider.components_file())
}

/// The address of an artifact. Without a tag, the version is the tag.
fn artifact(oci: &str, seen: &Observed) -> String {
    let path = oci.strip_prefix("oci://").or_else(|| oci.strip_prefix("http://")).unwrap_or(oci);
    let has_tag = path.rsplit('/').next().is_some_and(|last| last.contains(':'));
    let file = seen.object.provider.components_file();
    match has_tag {
        true => format!("oci://{path}/{file}"),
        false => format!("oci://{path}:{}/{file}", seen.object.version().unwrap_or("latest")),
    }
}

/// The files in ConfigMaps.
fn supplied(maps: &[ConfigMap]) -> Result<Supplied, Failure> {
    let failed = |message: String| Failure::new(FETCH_FAILED, message);
    let mut all = Supplied::default();
    for map in maps {
        let name = format!("ConfigMap {}/{}", map.namespace().unwrap_or_default(), map.name_any());
        let (release, place) = match map.labels().get(CONFIG_MAP_VERSION) {
            Some(label) => (label.clone(), "the label provider.cluster.x-k8s.io/version"),
            None => (map.name_any(), "the name"),
        };
        if version::parse(&release).is_none() {
            return Err(failed(format!("{name} has the invalid version {release:?} in {place}")));
        }
        if all.has(&release) {
            return Err(failed(format!("{name} has the version {release} of another selected ConfigMap")));
        }
        let metadata = map.data.as_ref().and_then(|data| data.get(METADATA_KEY));
        let metadata = metadata.ok_or_else(|| failed(format!("{name} has no key {METADATA_KEY}")))?;
        all.add(&release, METADATA, metadata.clone());
        all.add(&release, COMPONENTS, components(map, &name)?);
    }
    if maps.is_empty() {
        return Err(failed(
            "no ConfigMap in the namespace of the provider has the labels of spec.fetchConfig.selector"
                .to_owned(),
        ));
    }
    Ok(all)
}

/// The components in a ConfigMap, decompressed if they are compressed.
fn components(map: &ConfigMap, name: &str) -> Result<Vec<u8>, Failure> {
    let failed = |message: String| Failure::new(FETCH_FAILED, message);
    if map.annotations().get(COMPRESSED).is_none_or(|text| text != "true") {
        let found = map.data.as_ref().and_then(|data| data.get(COMPONENTS_KEY));
        let found = found.ok_or_else(|| failed(format!("{name} has no key {COMPONENTS_KEY}")))?;
        return Ok(found.clone().into_bytes());
    }
    let found = map.binary_data.as_ref().and_then(|data| data.get(COMPONENTS_KEY));
    let found = found.ok_or_else(|| failed(format!("{name} has no key {COMPONENTS_KEY} of binary data")))?;
    let mut text = Vec::new();
    let limit = u64::try_from(COMPONENTS_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let read = GzDecoder::new(found.0.as_slice()).take(limit).read_to_end(&mut text);
    read.map_err(|error| failed(format!("the components of {name} cannot be decompressed: {error}")))?;
    if text.len() > COMPONENTS_MAX {
        return Err(failed(format!("the components of {name} are larger than {COMPONENTS_MAX} bytes")));
    }
    Ok(text)
}

/// The additional manifests, if the object wants any.
fn manifests(seen: &Observed) -> Result<Option<&String>, Failure> {
    let failed = |message: String| Failure::new(FETCH_FAILED, message);
    match &seen.manifests {
        Referred::Unasked => Ok(None),
        Referred::Missing(map) => {
            Err(failed(format!("the {map} of spec.additionalManifests does not exist")))
        }
        Referred::Found(map) => {
            let found = map.data.as_ref().and_then(|data| data.get(MANIFESTS_KEY));
            let missing = || {
                failed(format!(
                    "the ConfigMap {} of spec.additionalManifests has no key {MANIFESTS_KEY}",
                    map.name_any()
                ))
            };
            found.ok_or_else(missing).map(Some)
        }
    }
}
