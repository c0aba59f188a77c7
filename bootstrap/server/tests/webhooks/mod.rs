//! The webhooks of `firstlight controllers`.

mod certificates;
mod json_patch;
mod registration;
mod reservation;
mod reviews;
mod server;
