//! `cargo run -p firstlight-conformance -- [--in FOLDER] TOPIC|CASE|PREFIX/...`: replays cases and prints each
//! difference. Without names it replays all cases; with a folder it uses recordings that are not committed.
#![expect(clippy::print_stdout, reason = "the differences are what the command is for")]

use conformance::model::{Case, Golden};
use conformance::{page, run};

fn main() -> anyhow::Result<()> {
    let mut chosen: Vec<String> = std::env::args().skip(1).collect();
    let mut golden = Golden::committed();
    if chosen.len() > 1 && chosen[0] == "--in" {
        golden = Golden::in_folder(chosen.drain(..2).skip(1).collect());
    }
    let is_chosen = |case: &Case| {
        let one = |name: &String| {
            *name == case.name
                || page::topic(&case.name) == name
                || name.ends_with('/') && case.name.starts_with(name)
        };
        chosen.is_empty() || chosen.iter().any(one)
    };
    let topics = run::topics(&golden, is_chosen)?;
    let mut totals = Vec::new();
    for (topic, verdicts) in &topics {
        for verdict in verdicts {
            for (number, request, differences) in &verdict.steps {
                println!("FAIL {} step {number}: {request}", verdict.case);
                differences.iter().for_each(|difference| println!("     {difference}"));
            }
        }
        let passed = verdicts.iter().filter(|verdict| verdict.steps.is_empty()).count();
        totals.push(format!("{topic} {passed}/{}", verdicts.len()));
    }
    totals.iter().for_each(|line| println!("{line}"));
    Ok(())
}
