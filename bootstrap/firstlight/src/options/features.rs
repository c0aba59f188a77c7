//! Feature gates, which admission and controllers share.

use clap::Args;
use schemas::admission::{Features, Gates};

use crate::controllers::Selection;

/// The flag `--feature-gates`.
#[derive(Debug, Clone, Default, Args)]
pub struct FeatureOptions {
    /// Feature gates of Cluster API, in the syntax of upstream's managers: MachinePool=false,MachineTaintPropagation=false
    ///
    /// May be repeated. Without the flag, the variables of clusterctl (EXP_MACHINE_POOL, …) count. All features that this program
    /// implements are on by default, also alpha ones. Gates of controllers that do not run here (--controllers) are on, because the program
    /// that runs those controllers decides.
    #[arg(long, value_name = "GATE=true|false,…")]
    pub feature_gates: Vec<Gates>,
}

impl FeatureOptions {
    /// Returns the features that the flag, the environment variables and `--controllers` select.
    ///
    /// # Errors
    /// The flag asks for a feature that none of the running controllers implements, or a variable has an invalid value.
    pub fn features(
        &self,
        controllers: &Selection,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Features, String> {
        let running = controllers.names();
        let asked = self.feature_gates.iter().fold(Gates::default(), Gates::and);
        let missing = asked.not_implemented(running);
        if !missing.is_empty() {
            return Err(format!(
                "--feature-gates: the controllers of this program do not implement {}: run upstream's managers, and this with \
                 --controllers none",
                missing.join(", ")
            ));
        }
        let variables = Gates::from_environment(variable)?;
        // The user may have set the variables for another program, so a feature that is missing here is no error.
        let missing = variables.not_implemented(running);
        if !missing.is_empty() {
            tracing::warn!(
                "this program does not implement {}, for which a variable is set",
                missing.join(", ")
            );
        }
        Ok(Gates::left_to_others(running).and(&variables.without(&missing)).and(&asked).features())
    }
}

/// Reads a variable of the process.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
