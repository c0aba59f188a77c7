//! Jobs and CronJobs.

mod columns;
mod cron;
mod cron_job;
mod failure_policy;
mod immutable;
mod indexes;
mod job;
pub(crate) mod kinds;
mod selector;
mod status;
mod warnings;
