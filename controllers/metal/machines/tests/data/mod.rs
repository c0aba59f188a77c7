//! Tests of data templates: tables over their plans, and lives with a real API server in this process and the IP address manager, on a paused
//! clock.

mod data_plan;
mod fixture;
mod kills;
mod lives;
mod rendering;
mod template_plan;
