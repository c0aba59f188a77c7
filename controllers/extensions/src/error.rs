//! The error type of this crate.

/// Why a hook has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No ExtensionConfig has a handler of this name.
    #[error("no runtime extension has registered the handler {0}")]
    NotRegistered(String),
    /// The handler answers another hook.
    #[error("the handler {handler} is for the hook {found}, not for {wanted}")]
    OtherHook {
        /// The handler.
        handler: String,
        /// The hook that it answers.
        found: String,
        /// The hook that was to be called.
        wanted: &'static str,
    },
    /// The ExtensionConfig does not select the namespace of the object.
    #[error("spec.namespaceSelector of ExtensionConfig {config} does not select the namespace {namespace}")]
    NotSelected {
        /// The ExtensionConfig.
        config: String,
        /// The namespace.
        namespace: String,
    },
    /// The namespace of the object does not exist.
    #[error("the namespace {0}, by which ExtensionConfigs are selected, does not exist")]
    NoNamespace(String),
    /// A hook for which there can be one handler has several.
    #[error("the hook {hook} has several handlers ({}); there can be one", .handlers.join(", "))]
    Several {
        /// The hook.
        hook: &'static str,
        /// The handlers.
        handlers: Vec<String>,
    },
    /// spec.clientConfig does not say where the extension answers.
    #[error("ExtensionConfig {config}: spec.clientConfig{why}")]
    Address {
        /// The ExtensionConfig.
        config: String,
        /// Which field is wrong, and why.
        why: String,
    },
    /// There is no answer, or none that can be read. The failure policy is about these errors only.
    #[error("{hook} of {extension}: {why}")]
    NoAnswer {
        /// The hook.
        hook: &'static str,
        /// The handler, or for discovery the ExtensionConfig.
        extension: String,
        /// What went wrong.
        why: String,
    },
    /// The answer says that the hook has failed.
    #[error("{hook} of {extension} answered {status:?}: {message}")]
    Failure {
        /// The hook.
        hook: &'static str,
        /// The handler, or for discovery the ExtensionConfig.
        extension: String,
        /// The status in the answer.
        status: String,
        /// The message in the answer.
        message: String,
    },
}

/// The result of calling a hook.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Error> for engine::Error {
    fn from(error: Error) -> Self {
        Self::failed(error.to_string())
    }
}
