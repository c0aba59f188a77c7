//! The CustomResourceDefinitions that cases share.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::model::{Case, Fixtures};
use crate::paths::text;
use crate::plane::{Ask, Plane};

const SERVED_MAX: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Creates the fixtures of `cases` and waits until they are served. Returns the fixtures that could not be
/// created, with the reasons.
pub async fn create(plane: &Plane, fixtures: &Fixtures, cases: &[Case]) -> BTreeMap<String, String> {
    let names: BTreeSet<&String> = cases.iter().flat_map(|case| &case.setup).collect();
    let mut failed = BTreeMap::new();
    for name in names {
        let Some(objects) = fixtures.get(name) else {
            failed.insert(name.clone(), format!("fixture {name} is not in _fixtures.json"));
            continue;
        };
        for object in objects {
            if let Err(error) = one(plane, object).await {
                failed.insert(name.clone(), format!("fixture {name}: {error:#}"));
            }
        }
    }
    failed
}

async fn one(plane: &Plane, object: &Value) -> Result<()> {
    let path = collection(plane, object).await?;
    let (code, answer) = plane.json(Ask::post(path, object)).await?;
    if code != 201 {
        bail!("code {code}: {}", text(&answer, &["message"]));
    }
    if text(object, &["kind"]) == "CustomResourceDefinition" {
        served(plane, object).await?;
    }
    Ok(())
}

/// Returns the path for creating objects of this kind, from discovery.
async fn collection(plane: &Plane, object: &Value) -> Result<String> {
    let version = text(object, &["apiVersion"]);
    let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    let (_, list) = plane.json(Ask::get(root.as_str())).await?;
    let kind =
        |resource: &&Value| resource["kind"] == object["kind"] && !text(resource, &["name"]).contains('/');
    let resource = list["resources"].as_array().and_then(|resources| resources.iter().find(kind));
    let resource = resource.with_context(|| format!("{version} {} is not served", object["kind"]))?;
    let name = text(resource, &["name"]);
    if resource["namespaced"] == true {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or("default");
        return Ok(format!("{root}/namespaces/{namespace}/{name}"));
    }
    Ok(format!("{root}/{name}"))
}

async fn served(plane: &Plane, definition: &Value) -> Result<()> {
    let deadline = plane.clock.monotonic() + SERVED_MAX;
    let (group, plural) =
        (text(definition, &["spec", "group"]), text(definition, &["spec", "names", "plural"]));
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    for version in versions.filter(|version| version["served"] == true) {
        let root = format!("/apis/{group}/{}", text(version, &["name"]));
        while plane.json(Ask::get(format!("{root}/{plural}"))).await?.0 != 200 {
            if plane.clock.monotonic() > deadline {
                bail!("{plural} is not served at {root} after {SERVED_MAX:?}");
            }
            plane.clock.sleep(PAUSE).await;
        }
    }
    Ok(())
}
