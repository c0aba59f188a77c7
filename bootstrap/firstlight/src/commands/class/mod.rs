//! `firstlight class`: what a ClusterClass makes of a Cluster, from files, without a server.

mod difference;
mod manifests;
mod render;
mod served;
mod test;

use anyhow::Result;
use clap::Subcommand;

pub use render::RenderOptions;
pub use test::TestOptions;

/// Commands under `class`.
#[derive(Debug, Subcommand)]
pub enum ClassCommand {
    /// Print the objects that a Cluster of a class would have
    ///
    /// All patches and defaults of variables are applied, as if the Cluster was new. Random ends of names are xxxxx. Defaults of other kinds, and patches of
    /// runtime extensions, need a server.
    #[command(
        after_help = "Examples:\n  firstlight class render -f class/ -f cluster.yaml\n  firstlight class render -f class/ -f cluster.yaml --variable replicas=3 | diff before.yaml -"
    )]
    Render(RenderOptions),
    /// Compare what a class makes of Clusters with what is expected, for CI
    ///
    /// A case is a folder with cluster.yaml, and with expected.yaml, or error.txt where the class must refuse the Cluster. The exit code is 1 if a case fails.
    #[command(
        after_help = "Examples:\n  firstlight class test -f class/ class/tests/*\n  firstlight class test -f class/ class/tests/* --update && git diff"
    )]
    Test(TestOptions),
}

/// Runs a command under `class`.
///
/// # Errors
/// Manifests cannot be read or rendered, or a case fails.
pub fn run(command: &ClassCommand) -> Result<()> {
    match command {
        ClassCommand::Render(options) => render::run(options),
        ClassCommand::Test(options) => test::run(options),
    }
}
