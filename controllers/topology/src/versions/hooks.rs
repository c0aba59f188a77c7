//! The hooks at which runtime extensions can hold back an upgrade.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A lifecycle hook of an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// After the whole cluster has been upgraded.
    AfterClusterUpgrade,
    /// After the control plane has reached a version of the plan.
    AfterControlPlaneUpgrade,
    /// After the workers have reached a version of the plan.
    AfterWorkersUpgrade,
    /// Before an upgrade begins.
    BeforeClusterUpgrade,
    /// Before the control plane gets the next version of the plan.
    BeforeControlPlaneUpgrade,
    /// Before workers get the next version of their plan.
    BeforeWorkersUpgrade,
}

impl Hook {
    /// All of them, by name.
    pub const ALL: [Self; 6] = [
        Self::AfterClusterUpgrade,
        Self::AfterControlPlaneUpgrade,
        Self::AfterWorkersUpgrade,
        Self::BeforeClusterUpgrade,
        Self::BeforeControlPlaneUpgrade,
        Self::BeforeWorkersUpgrade,
    ];

    /// The name of the hook, as in the API of extensions and in the annotation of pending hooks.
    pub fn name(self) -> &'static str {
        match self {
            Self::AfterClusterUpgrade => "AfterClusterUpgrade",
            Self::AfterControlPlaneUpgrade => "AfterControlPlaneUpgrade",
            Self::AfterWorkersUpgrade => "AfterWorkersUpgrade",
            Self::BeforeClusterUpgrade => "BeforeClusterUpgrade",
            Self::BeforeControlPlaneUpgrade => "BeforeControlPlaneUpgrade",
            Self::BeforeWorkersUpgrade => "BeforeWorkersUpgrade",
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What extensions answered to a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Go on. Also if no extension is registered for the hook.
    Proceed,
    /// Wait, and ask again later. Also if the time of an earlier answer has not come yet.
    Wait {
        /// What the extensions said.
        message: String,
        /// When to ask again.
        retry_after_seconds: u32,
    },
}

/// Which hooks are to be called, and what was answered so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hooks {
    /// The feature gate `RuntimeSDK`. Without it there are no hooks, and annotations that hold back an upgrade do nothing.
    pub are_enabled: bool,
    /// The hooks in the Cluster's annotation that are still to be called.
    pub pending: BTreeSet<Hook>,
    /// The annotations of the Cluster that hold back an upgrade.
    pub held_by: BTreeSet<String>,
    /// The answers of this reconcile.
    pub answers: BTreeMap<Hook, Answer>,
}

impl Hooks {
    /// Reads the annotations of a Cluster.
    pub fn of_annotations(are_enabled: bool, annotations: &BTreeMap<String, String>) -> Self {
        let names = annotations.get(crate::names::PENDING_HOOKS).map_or("", String::as_str);
        let named = |hook: &Hook| names.split(',').any(|name| name.trim() == hook.name());
        let held_by = annotations.keys().filter(|name| name.starts_with(crate::names::BEFORE_UPGRADE_HOOK));
        Self {
            are_enabled,
            pending: Hook::ALL.into_iter().filter(named).collect(),
            held_by: held_by.cloned().collect(),
            answers: BTreeMap::new(),
        }
    }

    /// Returns whether the hook is still to be called.
    pub fn is_pending(&self, hook: Hook) -> bool {
        self.are_enabled && self.pending.contains(&hook)
    }

    /// Returns whether the answer to the hook is to wait.
    pub(super) fn waits_for(&self, hook: Hook) -> bool {
        matches!(self.answers.get(&hook), Some(Answer::Wait { .. }))
    }
}

/// A hook that must be called before more can be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The hook.
    pub hook: Hook,
    /// `fromKubernetesVersion` of the request; empty for hooks that come after something.
    pub from: String,
    /// `toKubernetesVersion` of the request; for hooks that come after something its `kubernetesVersion`.
    pub to: String,
}

/// What holds back an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The hook.
    pub hook: Hook,
    /// What its extensions said, or which annotations are set.
    pub message: String,
    /// When to look again.
    pub retry_after_seconds: u32,
}
