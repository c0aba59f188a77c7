//! The state of the world that the plan depends on.

use std::sync::Arc;

use schemas::runtime::ExtensionConfig;

use crate::answers::Discovered;

/// The state of the world that the plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled ExtensionConfig.
    pub config: Arc<ExtensionConfig>,
    /// The `caBundle` that its annotation asks for, and an error if there is none; `None` without the annotation.
    pub authority: Option<Result<String, String>>,
    /// What the extension says of itself, and an error if it does not. `None` if it was not asked, because `caBundle` must be set before.
    pub discovered: Option<Result<Discovered, String>>,
}
