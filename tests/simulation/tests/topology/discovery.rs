//! Variables that an extension defines.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use kube::api::{Api, Patch, PatchParams};
use schemas::HasConditions;
use schemas::cluster::ClusterClass;
use schemas::runtime::ExtensionConfig;
use serde_json::{Value, json};
use simulation::simulation::Life;

use super::extension::Extension;
use super::life::{CLASS, name, objects, open, until};
use super::places::add;

const HOOK: &str = "DiscoverVariables";
/// Shorter than a reconcile after many failures takes to come back, so that only an event can have led to it.
const SOON: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(3600);

fn class(life: &Life) -> Result<std::sync::Arc<ClusterClass>> {
    objects::<ClusterClass>(life).get(&name("small")).context("the class")
}

/// Returns status and message of the condition about variables.
fn ready(life: &Life) -> Result<(String, String)> {
    let condition = class(life)?.condition("VariablesReady").cloned().unwrap_or_default();
    Ok((condition.status, condition.message))
}

/// Returns the variables, each with the names of those who define it, and whether they differ.
fn variables(life: &Life) -> Result<Value> {
    let status = class(life)?.status.clone().unwrap_or_default();
    let variables = status.variables.into_iter().map(|variable| {
        let from: Vec<String> = variable.definitions.into_iter().map(|definition| definition.from).collect();
        json!([variable.name, from, variable.definitions_conflict])
    });
    Ok(variables.collect())
}

fn defined(name: &str, schema: Value) -> Value {
    json!({"name": name, "required": true, "schema": {"openAPIV3Schema": schema}})
}

fn answer(variables: &[Value]) -> impl FnMut(&Value) -> Value + Send + 'static {
    let answer = json!({"status": "Success", "variables": variables});
    move |_| answer.clone()
}

/// Changes the ExtensionConfig, as a new version of the extension would.
async fn touch(life: &Life, version: &str) -> Result<()> {
    let api = Api::<ExtensionConfig>::all(life.plane.client("user"));
    let patch = Patch::Merge(json!({"spec": {"settings": {"version": version}}}));
    api.patch("ext", &PatchParams::default(), &patch).await?;
    life.clock.sleep(SOON).await;
    Ok(())
}

async fn create(life: &Life) -> Result<()> {
    open(life).await;
    let mut documents = parse("class.yaml", CLASS)?;
    let external = json!({"discoverVariablesExtension": "discovervariables.ext",
        "generatePatchesExtension": "generatepatches.ext"});
    let patches = json!([{"name": "zones", "external": external}]);
    add(&mut documents, "ClusterClass", "/spec", "patches", patches)?;
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    Ok(())
}

async fn live(life: &Life, extension: &Extension) -> Result<()> {
    let same = defined("maxPods", json!({"type": "integer", "default": 110}));
    let zone = defined("zone", json!({"type": "string"}));
    extension.answer(HOOK, answer(&[zone.clone(), same.clone()]));
    create(life).await?;
    until(life, |life| match ready(life) {
        Ok((status, message)) if status == "False" && message.contains("discovervariables.ext") => Vec::new(),
        found => vec![format!("{found:?}")],
    })
    .await
    .context("the extension is not registered")?;
    ensure!(variables(life)? == json!([]), "{}", variables(life)?);
    life.clock.sleep(LONG).await;
    extension.register(life).await?;
    life.clock.sleep(SOON).await;
    ensure!(ready(life)?.0 == "True", "{:?}", ready(life)?);
    let both = json!([["maxPods", ["inline", "zones"], false], ["zone", ["zones"], false]]);
    ensure!(variables(life)? == both, "{}", variables(life)?);

    extension.answer(HOOK, answer(&[defined("maxPods", json!({"type": "string"})), zone.clone()]));
    touch(life, "two").await?;
    let (status, message) = ready(life)?;
    ensure!(status == "False" && message.ends_with("conflicting schemas: maxPods"), "{status}: {message}");
    let conflict = json!([["maxPods", ["inline", "zones"], true], ["zone", ["zones"], false]]);
    ensure!(variables(life)? == conflict, "{}", variables(life)?);

    let wrong = [
        (
            json!({"status": "Success", "variables": [defined("zone", json!({"type": "nonsense"}))]}),
            "zones.variables[zone]",
        ),
        (json!({"status": "Success", "variables": [zone.clone(), zone.clone()]}), "more than once"),
        (json!({"status": "Success", "variables": "nonsense"}), "cannot be read"),
        (json!({"status": "Success", "variables": ["nonsense"]}), "discovervariables.ext"),
        (json!({"status": "Failure", "message": "no zones today"}), "no zones today"),
    ];
    for (position, (answer, part)) in wrong.into_iter().enumerate() {
        extension.answer(HOOK, move |_| answer.clone());
        touch(life, &format!("three-{position}")).await?;
        let (status, message) = ready(life)?;
        ensure!(status == "False" && message.contains(part), "{part}: {status}: {message}");
        ensure!(variables(life)? == conflict, "the variables stay: {}", variables(life)?);
    }
    extension.answer(HOOK, answer(&[zone, same]));
    touch(life, "four").await?;
    ensure!(ready(life)?.0 == "True" && variables(life)? == both, "{:?}", ready(life)?);
    let settings = extension.asked().last().map(|asked| asked.request["settings"]["version"].clone());
    ensure!(settings == Some(json!("four")), "{settings:?}");
    Ok(())
}

#[test]
fn a_class_has_the_variables_of_its_extension_as_soon_as_that_changes() {
    let extension = Extension::new(&[HOOK, "GeneratePatches"]);
    extension.simulation(35).live(async |life, _| live(life, &extension).await).expect("seed 35");
}
