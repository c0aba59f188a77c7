//! The wanted objects of a Cluster, with the patches of its class. Some patches are made by extensions.

use engine::{Error, Result, aside};
use machinery::random::Random;
use schemas::cluster::ClusterClassPatch;
use serde_json::{Value, json};

use super::observed::Observed;
use super::plan::{self, Decision};
use crate::extensions::{Extensions, Hook};
use crate::{Desired, PatchError, Step};

/// Makes the wanted objects, with all patches of the class.
pub async fn desired(
    extensions: &dyn Extensions,
    random: &Random,
    observed: &Observed,
    decision: &Decision,
) -> Result<Desired> {
    let patching = aside(|| plan::patching(observed, decision, &mut || random.name_suffix()));
    let mut patching = patching.map_err(Error::Failed)?;
    let failed = |error: PatchError| Error::failed(error.to_string());
    // Extensions select the namespaces of Clusters, and a class may be in another one.
    let namespace = observed.current.cluster.metadata.namespace.as_deref().unwrap_or_default();
    loop {
        match aside(|| patching.next()).map_err(failed)? {
            Step::Done => break,
            Step::Generate { patch, request } => {
                let (hook, request) = (Hook::GeneratePatches, json!(request));
                let answer = call(extensions, observed, patch, hook, namespace, request).await?;
                let answer = serde_json::from_value(answer).map_err(|error| {
                    Error::json(format!("what the extension of patch {} answered", patch.name), error)
                })?;
                aside(|| patching.answer(answer)).map_err(failed)?;
            }
            Step::Validate { patch, request } => {
                let (hook, request) = (Hook::ValidateTopology, json!(request));
                call(extensions, observed, patch, hook, namespace, request).await?;
            }
        }
    }
    aside(|| patching.finish()).map_err(failed)
}

/// Calls the extension of a patch.
async fn call(
    extensions: &dyn Extensions,
    observed: &Observed,
    patch: &ClusterClassPatch,
    hook: Hook,
    namespace: &str,
    request: Value,
) -> Result<Value> {
    let external = patch.external.as_ref();
    let name = external.and_then(|external| match hook {
        Hook::ValidateTopology => external.validate_topology_extension.as_deref(),
        _ => external.generate_patches_extension.as_deref(),
    });
    let name = name.unwrap_or_default();
    if !observed.calls_hooks {
        return Err(Error::failed(format!(
            "the patch {} of the ClusterClass needs the extension {name}, but the feature gate RuntimeSDK is off",
            patch.name
        )));
    }
    let settings = external.map(|external| external.settings.clone()).unwrap_or_default();
    let answer = extensions.call(hook, name, namespace, &settings, request).await;
    answer.map_err(|error| Error::failed(format!("patch {} of the ClusterClass: {error}", patch.name)))
}
