//! What the rules decide about an object: its wanted state, and the list of steps before it is written.

use std::any::Any;
use std::convert::Infallible;
use std::fmt::{self, Debug};

use super::{Act, Event, Named, Step};
use crate::controller::Action;

/// What the rules decide about an object of the kind `K`. `S` is what only its controller can do.
pub struct Plan<K, S = Infallible> {
    /// The object with its wanted metadata, spec and status.
    pub wanted: K,
    /// What happens before the object is written.
    pub steps: Steps<S>,
    /// Errors that the reconcile returns.
    pub errors: Vec<String>,
    /// When to reconcile again.
    pub action: Action,
    /// Whether the object is written after the steps.
    pub is_written: bool,
}

impl<K, S> Plan<K, S> {
    /// Returns a plan without steps.
    pub fn of(wanted: K) -> Self {
        Self { wanted, steps: Steps::default(), errors: Vec::new(), action: Action::done(), is_written: true }
    }

    /// Returns a plan without steps whose object is not written, not even with the errors of the steps.
    pub fn without_write(object: K) -> Self {
        Self { is_written: false, ..Self::of(object) }
    }
}

impl<K: Debug, S: Named> Debug for Plan<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, steps, errors, action, is_written } = self;
        let mut plan = f.debug_struct("Plan");
        plan.field("wanted", wanted).field("steps", &steps.texts()).field("errors", errors);
        plan.field("action", action).field("is_written", is_written).finish()
    }
}

/// The steps of a plan.
pub struct Steps<S = Infallible> {
    pub(super) list: Vec<Step<S>>,
    /// The number of lists of steps of which each needs those before it.
    chains: usize,
}

impl<S> Default for Steps<S> {
    fn default() -> Self {
        Self { list: Vec::new(), chains: 0 }
    }
}

impl<S> Steps<S> {
    /// Adds a step.
    pub fn push(&mut self, step: Step<S>) {
        self.list.push(step);
    }

    /// Adds steps that do not depend on each other.
    pub fn extend(&mut self, steps: impl IntoIterator<Item = Step<S>>) {
        self.list.extend(steps);
    }

    /// Adds steps of which each needs those before it. They have no names and needs of their own.
    pub fn in_order(&mut self, steps: impl IntoIterator<Item = Step<S>>) {
        self.chains += 1;
        let chain = format!("chain {}", self.chains);
        self.list.extend(steps.into_iter().map(|step| {
            debug_assert!(step.name.is_none() && step.needs.is_none(), "the chain is its name and its need");
            step.named(chain.as_str()).needs(chain.as_str())
        }));
    }

    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the writes of one type, for example `Delete<Machine>`.
    pub fn of<W: Any>(&self) -> impl Iterator<Item = &W> {
        self.list.iter().filter_map(|step| match &step.act {
            Act::Write(write) => (write.as_ref() as &dyn Any).downcast_ref(),
            Act::Tell(_) | Act::Own(_) => None,
        })
    }

    /// Returns the steps that only the controller of the kind has.
    pub fn own(&self) -> impl Iterator<Item = &S> {
        self.list.iter().filter_map(|step| match &step.act {
            Act::Own(own) => Some(own.as_ref()),
            Act::Write(_) | Act::Tell(_) => None,
        })
    }

    /// Returns the events that are recorded whatever becomes of the other steps.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.list.iter().filter_map(|step| match &step.act {
            Act::Tell(event) => Some(event),
            Act::Write(_) | Act::Own(_) => None,
        })
    }
}

impl<S: Named> Steps<S> {
    /// Returns the steps as texts such as `delete Machine default/m1`.
    pub fn texts(&self) -> Vec<String> {
        self.list.iter().map(ToString::to_string).collect()
    }
}
