//! Tests of `server::leader_election::options`.

use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use server::leader_election::options::{LeaderElectionOptions, Timings};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: LeaderElectionOptions,
}

fn timings(flags: &str) -> Result<Timings> {
    let line = std::iter::once("test").chain(flags.split_whitespace());
    Line::try_parse_from(line).unwrap().options.timings()
}

#[test]
fn defaults_are_those_of_cluster_api() {
    let Line { options } = Line::try_parse_from(["test"]).unwrap();
    assert!(!options.leader_elect);
    assert!(Line::try_parse_from(["test", "--leader-elect"]).unwrap().options.leader_elect);
    assert!(!Line::try_parse_from(["test", "--leader-elect=false"]).unwrap().options.leader_elect);
    let seconds = Duration::from_secs;
    let expected = Timings { lease_seconds: 15, renew_deadline: seconds(10), retry_period: seconds(2) };
    assert_eq!(timings("").unwrap(), expected);
}

#[test]
fn times_with_which_two_processes_could_lead_are_refused() {
    let table = [
        ("--leader-elect-lease-duration=10s", "--leader-elect-lease-duration is 10s and must be longer"),
        ("--leader-elect-lease-duration=10900ms --leader-elect-renew-deadline=10500ms", "in whole seconds"),
        ("--leader-elect-renew-deadline=2400ms", "must be longer than 1.2 times"),
        ("--leader-elect-retry-period=0s", "--leader-elect-retry-period must be longer than 0s"),
    ];
    for (flags, expected) in table {
        let error = timings(flags).unwrap_err().to_string();
        assert!(error.contains(expected), "{flags}: {error}");
    }
    assert!(timings("--leader-elect-lease-duration=10001ms").is_err());
    assert!(timings("--leader-elect-lease-duration=11s --leader-elect-renew-deadline=2401ms").is_ok());
}
