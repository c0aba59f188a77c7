//! Kinds that are answered and forgotten: reviews of access and requests for tokens.

pub(crate) mod kinds;
