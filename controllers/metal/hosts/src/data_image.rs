//! Controller of DataImage: maintains its finalizer and its owner reference. The content of the drive changes with the host's power
//! (`host::drive`).

use std::sync::Arc;

use engine::{
    Action, Controller, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer, owners,
};
use machinery::clock::rfc3339;
use schemas::metal3::{BareMetalHost, DataImage, DataImageError};

use crate::connection::{Beside, Hosts};
use crate::control::Control;
use crate::host::observed::Drive;
use crate::limits;
use crate::names::{DATA_IMAGE_FINALIZER, DETACHED, PAUSED};

/// Starts the controller.
pub fn start(manager: &Manager, control: Arc<dyn Control>) {
    let hosts = Hosts { hosts: manager.objects(), secrets: manager.objects(), control };
    let reconciler = DataImageReconciler { images: manager.objects(), hosts, manager: manager.clone() };
    Controller::new(manager, "dataimage")
        .time_limit(limits::RECONCILE)
        .reconciles(&reconciler.images.clone())
        // A DataImage has the name of its host.
        .watches(&reconciler.hosts.hosts.clone(), |change| vec![change.name()])
        .reads(&reconciler.hosts.secrets.clone())
        .start(reconciler);
}

struct DataImageReconciler {
    images: Objects<DataImage>,
    hosts: Hosts,
    manager: Manager,
}

/// The state of the host.
#[derive(Clone, Copy)]
enum Known<'a> {
    Nobody,
    /// The host exists; the text is the reason why it has no drive, if it has none.
    Host(&'a BareMetalHost, Option<&'a str>),
}

/// Returns the DataImage with the wanted finalizer, owner reference and status.
fn plan(image: &DataImage, known: Known<'_>, now: &str) -> DataImage {
    let mut wanted = image.clone();
    let is_deleting = image.metadata.deletion_timestamp.is_some();
    let Known::Host(host, problem) = known else {
        // Without a host there is no drive from which the image must be ejected.
        finalizer::remove(&mut wanted, DATA_IMAGE_FINALIZER);
        return wanted;
    };
    let has = |key: &str| {
        host.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(key))
    };
    if has(PAUSED) {
        return wanted;
    }
    if is_deleting {
        // A detached machine is not touched, so the image stays in its drive.
        if has(DETACHED) || host.spec.bmc.is_none() || Drive::attached(image).is_none() {
            finalizer::remove(&mut wanted, DATA_IMAGE_FINALIZER);
        }
        return wanted;
    }
    let owner = owners::reference(host, &());
    if !owners::is_owned_by(image, &owner.uid) {
        wanted.metadata.owner_references.get_or_insert_default().push(owner);
    }
    finalizer::add(&mut wanted, DATA_IMAGE_FINALIZER);
    let known = image.status.as_ref().and_then(|status| status.error.as_ref());
    match problem {
        Some(problem) if !image.spec.url.is_empty() && known.is_none_or(|known| known.message != problem) => {
            let status = wanted.status.get_or_insert_default();
            let count = known.map_or(0, |known| known.count) + 1;
            status.error = Some(DataImageError { count, message: problem.to_owned() });
            status.last_reconciled = Some(now.to_owned());
        }
        _ => {}
    }
    wanted
}

impl Reconciler for DataImageReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(image) = self.images.get(&request) else { return Ok(Action::done()) };
        let beside = self.hosts.beside(&NamespacedName::of(image.as_ref()));
        let known = match &beside {
            Beside::Nobody => Known::Nobody,
            Beside::Untouched(host) | Beside::Machine(host, _) => Known::Host(host, None),
            Beside::Unusable(host, problem) => Known::Host(host, Some(problem)),
        };
        let wanted = plan(&image, known, &rfc3339(self.manager.clock().now()));
        self.images.patch(&image, &wanted, &[]).await?;
        Ok(Action::done())
    }
}
