//! What runs at the source of a pivot.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clusterctl::inventory::{self, Installed};
use clusterctl::is_in_process;
use kube::api::{Api, DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use server::controllers::Selection;
use server::data_directory::DataDirectory;

/// The entry of Cluster API's Docker provider in clusterctl's inventory. It has the kinds of the simulated infrastructure.
const DOCKER: &str = "infrastructure-docker";

/// Returns the controllers of the source: those of the server on the data directory `folder`. Of another source it is only known whether a
/// provider of its own has the kinds of the simulated infrastructure.
///
/// # Errors
/// The file about the server is damaged, or the source cannot be asked.
pub async fn controllers_of(folder: Option<&Path>, source: &Client) -> Result<Selection> {
    if let Some(folder) = folder {
        let running = DataDirectory::locate(Some(folder))?.running()?;
        if let Some(controllers) = running.and_then(|running| running.controllers) {
            let controllers: Selection = controllers.parse().map_err(|error: String| {
                anyhow!("{error}, says server.json in {}: start the server there again", folder.display())
            })?;
            // A server that only stores objects leaves them to the controllers of the target.
            if !controllers.is_none() {
                return Ok(controllers);
            }
        }
    }
    let all = Selection::all();
    Ok(if has_docker(source).await? { all.without("simulated") } else { all })
}

/// Returns whether the provider is installed, and not only built into a server.
async fn has_docker(source: &Client) -> Result<bool> {
    let failed = "cannot read clusterctl's inventory at the source";
    let providers: Api<DynamicObject> = Api::all_with(source.clone(), &inventory::resource());
    let found = match providers.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(false),
        found => found.context(failed)?,
    };
    for provider in found.items.iter().filter(|provider| provider.name_any() == DOCKER) {
        if !is_in_process(source, &Installed::read(provider)).await.context(failed)? {
            return Ok(true);
        }
    }
    Ok(false)
}
