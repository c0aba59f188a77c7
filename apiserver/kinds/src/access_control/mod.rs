//! Roles, their bindings, and service accounts.

mod columns;
pub(crate) mod kinds;
mod roles;
mod service_account;
