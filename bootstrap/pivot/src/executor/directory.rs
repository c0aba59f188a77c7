//! Objects in a directory: the format of `clusterctl move --to-directory` and `--from-directory`, with additional checksums.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::files::{CHECKSUMS, file_names, only_these, read_files, write_file};
use super::{Pivot, Work, refuse};
use crate::error::{Error, Result};
use crate::graph::Scope;
use crate::inventory::{Discovery, Inventory, Item};
use crate::journal::{Before, Header, Record};
use crate::preflight;
use crate::progress::Phase;
use crate::report::Report;

/// The prefix of a source or target in a journal that is a directory.
pub(super) const DIRECTORY: &str = "directory ";

impl Pivot {
    /// Writes all objects that would move to `folder`, while the source is paused.
    ///
    /// # Errors
    /// The objects are not at rest, the folder contains other files, or a disk or server fails.
    pub async fn save(mut self, folder: &Path) -> Result<Report> {
        self.begin_anew()?;
        let mut work = self.read().await?;
        self.report.findings = work.inventory.unsteady.clone();
        refuse(&self.report.findings)?;
        let names = file_names(&work.inventory);
        only_these(folder, &names.values().map(String::as_str).collect())?;
        self.journal.append(Record::Started(Header {
            id: self.random.uid(),
            source: self.source.identity().await?,
            target: format!("{DIRECTORY}{}", folder.display()),
            target_name: folder.display().to_string(),
            namespace: self.options.namespace.clone(),
            keep_source: true,
        }))?;
        self.journal.append(Record::Planned(work.inventory.plan.clone()))?;
        self.pause_source(&work).await?;
        self.wait_until_released(&mut work).await?;
        work.inventory = work.discovery.inventory(&self.source, &work.scope).await?;
        let written = self.write(&work, folder);
        // The source must be unpaused even if the write failed.
        self.undo(&work).await?;
        written?;
        let mut report = self.finish();
        report.saved(&folder.display().to_string());
        Ok(report)
    }

    fn write(&self, work: &Work, folder: &Path) -> Result<()> {
        let names = file_names(&work.inventory);
        only_these(folder, &names.values().map(String::as_str).collect())?;
        let mut checksums =
            String::from("# What the files beside it must be, for `firstlight move --from-directory`.\n");
        for (number, (key, name)) in names.iter().enumerate() {
            let text = work.inventory.items[key].object.text.get();
            write_file(&folder.join(name), text.as_bytes())?;
            checksums.push_str(&format!("# {:x}  {name}\n", Sha256::digest(text)));
            self.progress.at(Phase::Copy, number + 1, names.len());
        }
        write_file(&folder.join(CHECKSUMS), checksums.as_bytes())
    }

    /// Creates the objects of `folder` at the target; existing objects are left unchanged. After an interruption, it can be run again
    /// to continue.
    ///
    /// # Errors
    /// A file is missing, edited or not an object, a server refuses a request, or the journal is of another interrupted operation.
    pub async fn restore_from(mut self, folder: &Path) -> Result<Report> {
        let mut discovery = Discovery::read(&self.target).await?;
        let reading = read_files(&mut discovery, folder)?;
        let scope = Scope::default();
        let mut inventory = discovery.assemble(reading, &scope);
        for step in inventory.plan.groups.iter_mut().flatten() {
            (step.shared, step.kept) = (false, None);
        }
        self.begin_restore(&discovery, &inventory).await?;
        let namespaces: BTreeSet<String> =
            inventory.plan.namespaces().into_iter().map(ToOwned::to_owned).collect();
        for name in &namespaces {
            self.make_namespace(name).await?;
        }
        let mut work = Work { namespaces, ..Work::new(discovery, scope, inventory) };
        self.copy(&mut work, &mut HashMap::new()).await?;
        if let Some((key, difference)) = self.verify(&work).await?.into_iter().next() {
            return Err(Error::Different {
                object: key.to_string(),
                difference,
                advice: "Look at it at the target, then run the same command again",
            });
        }
        self.unpause_target(&mut work).await?;
        self.journal.append(Record::Done)?;
        let mut report = self.finish();
        report.saved(&folder.display().to_string());
        Ok(report)
    }

    /// Records the objects that exist at the target before any object is created there. All other objects of these names then belong to
    /// this restore, however often it is repeated.
    async fn begin_restore(&mut self, discovery: &Discovery, inventory: &Inventory) -> Result<()> {
        let (source, target) = (format!("{DIRECTORY}{}", digest(inventory)), self.target.identity().await?);
        let state = self.journal.state();
        match state.header.as_ref().filter(|_| !state.ended()) {
            Some(header) if header.source != source || header.target != target => {
                return Err(Error::Journal(format!(
                    "{} records something else that was interrupted, of other objects or at another server; finish that first, or name \
                     another --journal",
                    self.journal.path()
                )));
            }
            Some(_) if state.paused => return Ok(()),
            Some(_) => {}
            None => {
                if state.header.is_some() {
                    self.journal.set_aside()?;
                }
                let id = self.random.uid();
                let (namespace, keep_source) = (String::new(), true);
                self.journal.append(Record::Started(Header {
                    id,
                    source,
                    target,
                    target_name: self.target_name.clone(),
                    namespace,
                    keep_source,
                }))?;
            }
        }
        self.journal.append(Record::Planned(inventory.plan.clone()))?;
        let before = |item: &Item| Before {
            object: item.object.key.clone(),
            paused: Value::Null,
            managed_fields: item.object.value()["metadata"]["managedFields"].clone(),
        };
        self.journal.append(Record::Pausing(inventory.roots().map(before).collect()))?;
        let left = preflight::existing(&self.target, discovery, inventory, |_| true).await?;
        self.journal.append(Record::Left(left))?;
        self.journal.append(Record::Paused)
    }

    async fn make_namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.target.create(&format!("create Namespace {name}"), "/api/v1/namespaces", &namespace).await
        {
            Err(error) if !error.is_already_exists() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns a digest that identifies the content of a directory.
fn digest(inventory: &Inventory) -> String {
    let items: BTreeMap<_, _> = inventory.items.iter().collect();
    let mut digest = Sha256::new();
    items.values().for_each(|item| digest.update(item.object.text.get()));
    format!("{:x}", digest.finalize())
}
