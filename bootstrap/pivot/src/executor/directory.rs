//! Objects in a directory: the format of `clusterctl move --to-directory` and `--from-directory`, with additional checksums.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::copy::{self, Done};
use super::files::{CHECKSUMS, file_names, only_these, read_files, write_file};
use super::phases::Phases;
use super::recorded::DIRECTORY;
use super::snapshot::Snapshot;
use super::{Pivot, hand_over, held, namespaces, pause, recorded, refuse, verify};
use crate::desired::Identities;
use crate::error::{Error, Result};
use crate::graph::Scope;
use crate::inventory::{Discovery, Inventory, Item};
use crate::journal::{Before, Header, Record};
use crate::preflight;
use crate::progress::Phase;
use crate::report::Report;

impl Pivot {
    /// Writes all objects that would move to `folder`, while the source is paused.
    ///
    /// # Errors
    /// The objects are not at rest, the folder contains other files, or a disk or server fails.
    pub async fn save(mut self, folder: &Path) -> Result<Report> {
        recorded::begin_anew(&mut self.journal)?;
        let mut snapshot = self.read().await?;
        self.report.findings = snapshot.inventory().unsteady.clone();
        refuse(&self.report.findings)?;
        let names = file_names(snapshot.inventory());
        only_these(folder, &names.values().map(String::as_str).collect())?;
        self.journal.append(Record::Started(Header {
            id: self.random.uid(),
            source: self.source.identity().await?,
            target: format!("{DIRECTORY}{}", folder.display()),
            target_name: folder.display().to_string(),
            namespace: self.options.namespace.clone(),
            keep_source: true,
        }))?;
        self.journal.append(Record::Planned(snapshot.inventory().plan.clone()))?;
        let Self { source, journal, phases, report, .. } = &mut self;
        phases.during(Phase::Pause, pause::pause(source, journal, phases, &snapshot)).await?;
        let (mut given_up, findings) = (BTreeSet::new(), &mut report.findings);
        let released = held::wait_until_released(source, phases, &mut snapshot, &mut given_up, findings);
        if let Err(error) = phases.during(Phase::Pause, released).await {
            self.undo(&snapshot).await?;
            return Err(error);
        }
        snapshot.read_again(source).await?;
        let written = write(snapshot.inventory(), phases, folder);
        // The source must be unpaused even if the write failed.
        self.undo(&snapshot).await?;
        written?;
        let mut report = self.finish();
        report.saved(&folder.display().to_string());
        Ok(report)
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
        for name in inventory.plan.namespaces() {
            namespaces::make(&self.target, name).await?;
        }
        let snapshot = Snapshot::new(discovery, scope, inventory);
        let mut identities = Identities::default();
        let Self { target, journal, phases, report, .. } = &mut self;
        let mut done = Done::new();
        let copied = copy::copy(target, journal, phases, &snapshot, &mut identities, &mut done);
        phases.during(Phase::Copy, copied).await?;
        let compared = verify::verify(target, journal, phases, &snapshot, &identities);
        let compared = phases.during(Phase::Verify, compared).await?;
        report.findings.extend(compared.findings);
        if let Some((key, difference)) = compared.different.into_iter().next() {
            return Err(Error::Different {
                object: key.to_string(),
                difference,
                advice: "Look at it at the target, then run the same command again",
            });
        }
        let unpaused = hand_over::unpause(target, journal.state(), &snapshot, &mut identities);
        phases.during(Phase::HandOver, unpaused).await?;
        journal.append(Record::Done)?;
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
}

fn write(inventory: &Inventory, phases: &Phases, folder: &Path) -> Result<()> {
    let names = file_names(inventory);
    only_these(folder, &names.values().map(String::as_str).collect())?;
    let mut checksums =
        String::from("# What the files beside it must be, for `firstlight move --from-directory`.\n");
    for (number, (key, name)) in names.iter().enumerate() {
        let text = inventory.items[key].object.text.get();
        write_file(&folder.join(name), text.as_bytes())?;
        checksums.push_str(&format!("# {:x}  {name}\n", Sha256::digest(text)));
        phases.at(Phase::Copy, number + 1, names.len());
    }
    write_file(&folder.join(CHECKSUMS), checksums.as_bytes())
}

/// Returns a digest that identifies the content of a directory.
fn digest(inventory: &Inventory) -> String {
    let items: BTreeMap<_, _> = inventory.items.iter().collect();
    let mut digest = Sha256::new();
    items.values().for_each(|item| digest.update(item.object.text.get()));
    format!("{:x}", digest.finalize())
}
