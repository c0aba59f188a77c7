//! The steps of a plan, in the order in which they happen. The rules make them as data, and [`perform`] performs them.
//!
//! A failed step does not prevent the others, except for those that depend on it: the rest of [`Steps::in_order`], and those that
//! [`Step::needs`] names.

mod event;
mod perform;
mod plan;
mod write;

use std::convert::Infallible;
use std::fmt::{self, Display};

use serde_json::Value;

use crate::error::Error;
use crate::object::{Kind, NamespacedName};
use crate::propagated::Removed;

pub use self::event::Event;
pub use self::perform::{Stepwise, Tools, perform};
pub use self::plan::{Plan, Steps};
use self::write::Write;
pub use self::write::{Apply, Delete, Merge, Patch, RemoveMetadata, Stored};

/// What a step is called.
pub trait Named: Send + Sync {
    /// Returns what the step does, for the metric.
    fn verb(&self) -> &'static str;

    /// Returns the object of the step: kind and name.
    fn target(&self) -> String;
}

impl Named for Infallible {
    fn verb(&self) -> &'static str {
        match *self {}
    }

    fn target(&self) -> String {
        match *self {}
    }
}

/// One step of a plan.
pub struct Step<S = Infallible> {
    act: Act<S>,
    name: Option<String>,
    needs: Option<String>,
    says: Option<Event>,
    warns: Option<Event>,
    warns_of_conflicts: bool,
    suffix: String,
    is_done_when_gone: bool,
    cluster: Option<NamespacedName>,
}

enum Act<S> {
    Write(Box<dyn Write>),
    Tell(Event),
    Own(Box<S>),
}

impl<S> Step<S> {
    fn of(act: Act<S>) -> Self {
        Self {
            act,
            name: None,
            needs: None,
            says: None,
            warns: None,
            warns_of_conflicts: true,
            suffix: String::new(),
            is_done_when_gone: false,
            cluster: None,
        }
    }

    fn write(write: impl Write) -> Self {
        Self::of(Act::Write(Box::new(write)))
    }

    /// Applies `wanted` to `read` as the field manager `manager`, if that changes something.
    pub fn apply<R: Stored>(manager: &'static str, read: &R, wanted: R::Kind) -> Self {
        let (read, kind) = read.clone().split();
        Self::write(Apply { manager, read: Some(read), wanted, kind })
    }

    /// Creates `wanted` by an apply as the field manager `manager`.
    pub fn apply_new<K: Kind<DynamicType = ()>>(manager: &'static str, wanted: K) -> Self {
        Self::write(Apply { manager, read: None, wanted, kind: () })
    }

    /// Turns `read` into `wanted`.
    pub fn patch<R: Stored>(read: &R, wanted: R::Kind) -> Self {
        Self::patch_owned(read, wanted, &[])
    }

    /// Turns `read` into `wanted`; its conditions `owned` overwrite those of others.
    pub fn patch_owned<R: Stored>(read: &R, wanted: R::Kind, owned: &'static [&'static str]) -> Self {
        let (read, kind) = read.clone().split();
        Self::write(Patch { read, wanted, owned, only_unchanged: false, kind })
    }

    /// Turns `read` into `wanted`, without its status, but only if nobody has changed the object since it was read.
    pub fn patch_unchanged<R: Stored>(read: &R, wanted: R::Kind) -> Self {
        let (read, kind) = read.clone().split();
        Self::write(Patch { read, wanted, owned: &[], only_unchanged: true, kind })
    }

    /// Sends a merge patch.
    pub fn merge<R: Stored>(read: &R, patch: Value) -> Self {
        let (read, kind) = read.clone().split();
        Self::write(Merge { read, patch, kind })
    }

    /// Removes labels and annotations that nobody owns but the field managers `managers`.
    pub fn remove_metadata<R: Stored>(read: &R, removed: Removed, managers: &'static [&'static str]) -> Self {
        let (read, kind) = read.clone().split();
        Self::write(RemoveMetadata { read, removed, managers, kind })
    }

    /// Deletes an object. One that is gone is not an error.
    pub fn delete<R: Stored>(read: &R) -> Self {
        let (read, kind) = read.clone().split();
        Self::write(Delete { read, kind })
    }

    /// Records an event, by default about the reconciled object.
    pub fn tell(event: Event) -> Self {
        Self::of(Act::Tell(event))
    }

    /// Does what only the controller of the kind can do.
    pub fn own(step: S) -> Self {
        Self::of(Act::Own(Box::new(step)))
    }

    /// Writes in a workload cluster. While it is not connected, the step is skipped.
    #[must_use]
    pub fn in_cluster(self, cluster: NamespacedName) -> Self {
        Self { cluster: Some(cluster), ..self }
    }

    /// Gives the step a name for [`Step::needs`]. Several steps can have the same one.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Skips the step if one of this name has failed before it.
    #[must_use]
    pub fn needs(self, name: impl Into<String>) -> Self {
        Self { needs: Some(name.into()), ..self }
    }

    /// Records this event when the step is done.
    #[must_use]
    pub fn says(self, event: Event) -> Self {
        Self { says: Some(event), ..self }
    }

    /// Records this event, with the error behind its message, when the step has failed.
    #[must_use]
    pub fn warns(self, event: Event) -> Self {
        Self { warns: Some(event), ..self }
    }

    /// Like [`Step::warns`], but not if somebody else has changed the object meanwhile, which the next reconcile takes into account.
    #[must_use]
    pub fn warns_unless_conflict(self, event: Event) -> Self {
        Self { warns: Some(event), warns_of_conflicts: false, ..self }
    }

    /// Returns the event about the outcome of the step.
    pub fn event(&self, error: Option<&Error>) -> Option<Event> {
        let Some(error) = error else { return self.says.clone() };
        let mut event = self.warns.clone().filter(|_| self.warns_of_conflicts || !error.is_conflict())?;
        event.message = format!("{}: {error}", event.message);
        Some(event)
    }

    /// Leaves the random part of a name out of the error: each attempt has another one.
    #[must_use]
    pub fn without_suffix(self, suffix: &str) -> Self {
        Self { suffix: suffix.to_owned(), ..self }
    }

    /// Accepts that the object has been deleted since it was read.
    #[must_use]
    pub fn unless_gone(self) -> Self {
        Self { is_done_when_gone: true, ..self }
    }
}

impl<S: Named> Named for Step<S> {
    fn verb(&self) -> &'static str {
        match &self.act {
            Act::Write(write) => write.verb(),
            Act::Tell(_) => "event",
            Act::Own(own) => own.verb(),
        }
    }

    fn target(&self) -> String {
        match &self.act {
            Act::Write(write) => write.target(),
            Act::Tell(event) => event.reason.to_owned(),
            Act::Own(own) => own.target(),
        }
    }
}

impl<S: Named> Display for Step<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb(), self.target())
    }
}
