//! Authentication, authorization and impersonation.
//!
//! A request carries its [`User`] in its extensions: the TLS listener sets it from the client's certificate,
//! the service of an in-process client from the identity it was created with. No data received over the
//! network can set an extension.

pub mod attributes;
pub mod authenticate;
pub mod authorize;
pub mod certificate;
pub mod impersonate;
pub mod rbac;
mod socket;
pub mod tokens;

pub use attributes::Attributes;
pub use authenticate::Authenticator;
pub use authorize::{Authorizer, Decision, UserRules};
pub use kinds::User;
pub use kinds::user;
pub use rbac::Rbac;
pub use socket::{header_values, is_socket, is_token_protocol};
pub use tokens::Tokens;
