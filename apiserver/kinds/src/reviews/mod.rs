//! Access reviews and token requests, which are answered and never stored.

pub(crate) mod kinds;
