//! What the controllers run nodes with.

use std::sync::Arc;

use anyhow::{Context, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use system_containers::balancer::Balancers;
use system_containers::{Images, Runtime, Weight};
use tokio::sync::OnceCell;

/// What runs containers on this machine.
pub struct Parts {
    /// Runs the containers.
    pub runtime: Arc<dyn Runtime>,
    /// Has what they are made of.
    pub images: Arc<dyn Images>,
    /// Runs the load balancers.
    pub balancers: Arc<dyn Balancers>,
    /// Images that each new node gets, besides those that its machine names.
    pub preload: Vec<String>,
    /// Whether the machine has version 1 of control groups, which a kubelet from 1.35 on must be told to accept.
    pub has_cgroups_v1: bool,
}

type Open = Box<dyn Fn() -> BoxFuture<'static, Result<Parts>> + Send + Sync>;

/// The nodes of this machine. Nothing is changed on the machine before the first object needs a container. Cheap to clone.
#[derive(Clone)]
pub struct Nodes(Arc<Inner>);

struct Inner {
    open: Open,
    parts: OnceCell<Parts>,
}

impl Nodes {
    /// Creates the nodes; `open` is called when the first object needs them, and again as long as it fails.
    pub fn new<F>(open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Parts>> + Send + 'static,
    {
        Self(Arc::new(Inner { open: Box::new(move || open().boxed()), parts: OnceCell::new() }))
    }

    /// Returns what runs containers here.
    ///
    /// # Errors
    /// Says what hinders containers on this machine, everything at once, and what to do.
    pub async fn parts(&self) -> Result<&Parts> {
        self.0.parts.get_or_try_init(|| (self.0.open)()).await
    }
}

/// Checks that containers can run on this machine, and warns of what may hinder them.
///
/// # Errors
/// Says everything that hinders them at once, with what to do.
pub async fn check(runtime: &dyn Runtime) -> Result<()> {
    let findings = runtime.preflight().await.context("this machine cannot be examined")?;
    let obstacles: Vec<String> = findings
        .iter()
        .filter(|finding| finding.weight == Weight::Obstacle)
        .map(|finding| format!("{}: {}", finding.what, finding.remedy))
        .collect();
    anyhow::ensure!(obstacles.is_empty(), "no node can run on this machine: {}", obstacles.join("; "));
    for finding in findings.iter().filter(|finding| finding.weight == Weight::Warning) {
        tracing::warn!("nodes on this machine: {}: {}", finding.what, finding.remedy);
    }
    Ok(())
}
