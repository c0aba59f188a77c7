//! The names of the objects of the webhooks, and their paths.

/// The name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration.
pub const CONFIGURATION: &str = "firstlight";
/// The name of the Service.
pub const SERVICE: &str = "firstlight-webhooks";
/// The name of the Secret with the certificates.
pub const SECRET: &str = "firstlight-webhook-certificates";
/// The path of defaults.
pub const DEFAULTS: &str = "/defaults";
/// The path of rules.
pub const RULES: &str = "/rules";
/// The path of conversion.
pub const CONVERSION: &str = "/conversion";
