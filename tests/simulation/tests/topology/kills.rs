//! A process that is killed while it creates, changes and deletes a Cluster of a class.

use anyhow::{Context, Result};
use serde_json::json;
use simulation::world::{Life, World};
use test_plane::requests::{Kill, Moment};

use super::life::{change, create, delete, left, missing, objects, open, until};
use schemas::cluster::Cluster;

/// The step of the user that is next, over all lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Create,
    Change,
    Delete,
    Done,
}

async fn go_on(life: &Life, next: &mut Next) -> Result<()> {
    open(life).await;
    if *next == Next::Create {
        create(life).await?;
        until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")?;
        *next = Next::Change;
    }
    if *next == Next::Change {
        change(life, "/variables/0/value", json!(64)).await?;
        change(life, "/version", json!("v1.35.0")).await?;
        until(life, |life| missing(life, 2, "v1.35.0")).await.context("upgraded")?;
        *next = Next::Delete;
    }
    if objects::<Cluster>(life).all().is_empty() {
        until(life, left).await.context("deleted")?;
    } else {
        delete(life).await?;
    }
    *next = Next::Done;
    Ok(())
}

/// Kills the process at a write, before or after the server has executed it.
fn killed_at(write: u64, moment: Moment) -> u64 {
    let mut world = World::new(13);
    world.requests.plan(Kill { write, moment });
    let mut next = Next::Create;
    while next != Next::Done {
        let lived = world.live(async |life, requests| {
            tokio::select! {
                biased;
                () = requests.killed() => Ok(()),
                done = go_on(life, &mut next) => done,
            }
        });
        lived.unwrap_or_else(|error| panic!("killed at write {write} ({moment:?}): {error:#}"));
        assert!(world.lives() < 4, "killed at write {write}: it does not end");
    }
    world.requests.writes()
}

/// The writes with which a Cluster begins are where most is created, so more of them are tried.
#[test]
fn killed_at_a_write_it_goes_on() {
    let mut write = 1;
    loop {
        let moment = if write % 2 == 0 { Moment::Before } else { Moment::After };
        let writes = killed_at(write, moment);
        write += if write < 40 { 8 } else { 131 };
        if write > writes {
            break;
        }
    }
}
