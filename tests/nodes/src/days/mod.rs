//! Bad days: what happens to nodes behind the server's back, and what cannot work. Each is said in a condition, and nothing is left over.

mod behind;
mod cut;
mod kills;
mod refused;
mod two;
mod unprivileged;

use anyhow::{Context as _, Result};

use crate::machines;
use crate::run::until;
use crate::stage::{Stage, UP};

pub use behind::play as behind;
pub use cut::play as cut;
pub use kills::play as kills;
pub use refused::play as refused;
pub use two::play as two;
pub use unprivileged::play as unprivileged;

/// The condition that a node runs.
const CONTAINER: &str = "ContainerProvisioned";
/// The condition that its bootstrap has succeeded.
const BOOTSTRAP: &str = "BootstrapCompleted";
/// The state of a machine that has none of them yet.
const TRUE: &str = "True";
const FALSE: &str = "False";

/// Waits for the first machine, and returns its name, which is also that of its DevMachine and of its node.
async fn first_machine(stage: &Stage<'_>) -> Result<String> {
    let management = stage.server.kubectl();
    until("a machine", UP, async || {
        machines::names(&management).await?.into_iter().next().context("there is none")
    })
    .await
}
