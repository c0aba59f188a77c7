//! Runtime extensions, as the controllers of topologies call them.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::Result;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemas::cluster::Cluster;
use serde_json::Value;

/// A hook that extensions can implement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// Before the objects of a Cluster are created.
    BeforeClusterCreate,
    /// After the API server of a Cluster has answered for the first time.
    AfterControlPlaneInitialized,
    /// Before the first step of an upgrade.
    BeforeClusterUpgrade,
    /// Before the control plane takes the next version.
    BeforeControlPlaneUpgrade,
    /// After the control plane has the next version.
    AfterControlPlaneUpgrade,
    /// Before workers take the next version.
    BeforeWorkersUpgrade,
    /// After workers have the next version.
    AfterWorkersUpgrade,
    /// After the last step of an upgrade.
    AfterClusterUpgrade,
    /// Before the objects of a Cluster are deleted.
    BeforeClusterDelete,
    /// Says which versions an upgrade goes through.
    GenerateUpgradePlan,
    /// Changes the objects of a topology.
    GeneratePatches,
    /// Accepts or refuses the objects of a topology.
    ValidateTopology,
    /// Says which variables a class has.
    DiscoverVariables,
}

impl Hook {
    /// Returns the name of the hook, as in annotations, conditions and URLs.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeClusterCreate => "BeforeClusterCreate",
            Self::AfterControlPlaneInitialized => "AfterControlPlaneInitialized",
            Self::BeforeClusterUpgrade => "BeforeClusterUpgrade",
            Self::BeforeControlPlaneUpgrade => "BeforeControlPlaneUpgrade",
            Self::AfterControlPlaneUpgrade => "AfterControlPlaneUpgrade",
            Self::BeforeWorkersUpgrade => "BeforeWorkersUpgrade",
            Self::AfterWorkersUpgrade => "AfterWorkersUpgrade",
            Self::AfterClusterUpgrade => "AfterClusterUpgrade",
            Self::BeforeClusterDelete => "BeforeClusterDelete",
            Self::GenerateUpgradePlan => "GenerateUpgradePlan",
            Self::GeneratePatches => "GeneratePatches",
            Self::ValidateTopology => "ValidateTopology",
            Self::DiscoverVariables => "DiscoverVariables",
        }
    }
}

/// What all handlers of a hook have answered together. A handler that fails is an error of the call instead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The messages of the handlers, joined.
    pub message: String,
    /// When to call again, the earliest of what the handlers ask for. An answer with it holds up what the hook comes before.
    pub retry_after: Option<Duration>,
}

/// The extensions of a management cluster.
pub trait Extensions: Send + Sync + 'static {
    /// Returns whether a handler of `hook` is registered for objects of this namespace.
    fn has_handler<'a>(&'a self, hook: Hook, namespace: &'a str) -> BoxFuture<'a, Result<bool>>;

    /// Calls every handler of `hook` for the namespace of `cluster` and joins their answers. The first failure ends the call.
    fn call_all<'a>(
        &'a self,
        hook: Hook,
        cluster: &'a Cluster,
        request: Value,
    ) -> BoxFuture<'a, Result<Answer>>;

    /// Calls the handler `name` of `hook` for an object of this namespace, and returns its whole answer. An answer whose status is a
    /// failure is an error.
    fn call<'a>(
        &'a self,
        hook: Hook,
        name: &'a str,
        namespace: &'a str,
        settings: &'a BTreeMap<String, String>,
        request: Value,
    ) -> BoxFuture<'a, Result<Value>>;
}

/// The absence of extensions: no hook has a handler.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoExtensions;

impl Extensions for NoExtensions {
    fn has_handler<'a>(&'a self, _: Hook, _: &'a str) -> BoxFuture<'a, Result<bool>> {
        async { Ok(false) }.boxed()
    }

    fn call_all<'a>(&'a self, _: Hook, _: &'a Cluster, _: Value) -> BoxFuture<'a, Result<Answer>> {
        async { Ok(Answer::default()) }.boxed()
    }

    fn call<'a>(
        &'a self,
        hook: Hook,
        name: &'a str,
        _: &'a str,
        _: &'a BTreeMap<String, String>,
        _: Value,
    ) -> BoxFuture<'a, Result<Value>> {
        let message = format!(
            "no runtime extension {name} is registered for the hook {}: this program calls no extensions yet",
            hook.name()
        );
        async { Err(engine::Error::failed(message)) }.boxed()
    }
}
