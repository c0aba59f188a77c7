//! Feature gates, which admission and controllers share.

use clap::Args;
use schemas::admission::{Features, Gates};

/// The flag `--feature-gates`.
#[derive(Debug, Clone, Default, Args)]
pub struct FeatureOptions {
    /// Feature gates of Cluster API, in the syntax of upstream's managers: MachinePool=false,MachineTaintPropagation=false
    ///
    /// May be repeated. Without the flag, the variables of clusterctl (EXP_MACHINE_POOL, …) count. All features are on
    /// by default, also alpha ones.
    #[arg(long, value_name = "GATE=true|false,…")]
    pub feature_gates: Vec<Gates>,
}

impl FeatureOptions {
    /// Returns the features that the flag and the environment variables select.
    ///
    /// # Errors
    /// A variable has an invalid value.
    pub fn features(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Features, String> {
        let asked = self.feature_gates.iter().fold(Gates::default(), Gates::and);
        Ok(Gates::from_environment(variable)?.and(&asked).features())
    }
}

/// Reads a variable of the process.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
