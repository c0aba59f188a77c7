//! Compares the registry with a reference model: random requests, for which each answer, each page and each watch event
//! must match the model. `PROPTEST_CASES=N` sets the number of cases.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::print_stderr,
    reason = "a test may panic"
)]
#![allow(missing_docs, reason = "a test")]

mod fixture;
mod reference;

use std::cell::Cell;

use fixture::{Fixture, Step};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use reference::{Change, Expect, LABELS, Selector};

const CASES: u32 = 250;
/// Average number of steps in a case, for a total of 10⁵.
const STEPS: usize = 400;

fn expect() -> impl Strategy<Value = Expect> {
    prop_oneof![3 => Just(Expect::Current), 3 => Just(Expect::Nothing), 1 => Just(Expect::Stale)]
}

fn key() -> impl Strategy<Value = reference::Key> {
    (prop::sample::select(&["a", "b"][..]), prop::sample::select(&["x", "y", "z"][..]))
}

fn manager() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["alice", "bob", "carol"][..])
}

fn settings() -> impl Strategy<Value = (&'static str, u8)> {
    (prop::sample::select(&["k0", "k1", "k2"][..]), 0..3u8)
}

fn change() -> impl Strategy<Value = Change> {
    let field =
        (settings(), prop::bool::weighted(0.7)).prop_map(|((name, value), set)| (name, set.then_some(value)));
    let size = (0..3u8).prop_map(|size| ("size", Some(size)));
    let tier = prop::option::of(prop::sample::select(&["x", "y"][..]));
    let fields = (prop::option::of(size), prop::collection::vec(field, 0..3));
    (fields, prop::option::of(tier), prop::option::weighted(0.3, any::<bool>())).prop_map(
        |((size, fields), tier, finalizer)| Change {
            fields: size.into_iter().chain(fields).collect(),
            tier,
            finalizer,
        },
    )
}

fn selector() -> impl Strategy<Value = Selector> {
    let namespace = prop::option::of(prop::sample::select(&["a", "b"][..]));
    let name = prop::option::weighted(0.2, prop::sample::select(&["x", "y", "z"][..]));
    (namespace, prop::sample::select(&LABELS[..]), name).prop_map(|(namespace, labels, name)| Selector {
        namespace,
        labels,
        name,
    })
}

fn write() -> impl Strategy<Value = Step> {
    let config =
        (0..3u8, prop::collection::btree_map(prop::sample::select(&["k0", "k1", "k2"][..]), 0..3u8, 0..3));
    prop_oneof![
        6 => (key(), manager(), change(), prop::bool::weighted(0.1))
            .prop_map(|(key, manager, change, dry_run)| Step::Create { key, manager, change, dry_run }),
        6 => (key(), manager(), expect(), change(), prop::bool::weighted(0.1)).prop_map(
            |(key, manager, expect, change, dry_run)| Step::Update { key, manager, expect, change, dry_run }),
        6 => (key(), manager(), expect(), change())
            .prop_map(|(key, manager, expect, change)| Step::Patch { key, manager, expect, change }),
        2 => (key(), manager(), 0..3u8, 0..3u8)
            .prop_map(|(key, manager, expected, size)| Step::TestAndSet { key, manager, expected, size }),
        3 => (key(), manager(), 0..3u8).prop_map(|(key, manager, phase)| Step::Status { key, manager, phase }),
        8 => (key(), manager(), config, any::<bool>()).prop_map(|(key, manager, (size, mut config), force)| {
            config.insert("size", size);
            Step::Apply { key, manager, config, force }
        }),
        3 => (key(), expect(), expect()).prop_map(|(key, uid, revision)| Step::Delete { key, uid, revision }),
        1 => (prop::sample::select(&["a", "b"][..]), prop::sample::select(&LABELS[..]))
            .prop_map(|(namespace, labels)| Step::DeleteCollection { namespace, labels }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => write(),
        3 => key().prop_map(Step::Get),
        3 => (selector(), 0..4i64).prop_map(|(selector, limit)| Step::List { selector, limit }),
        4 => (0..4usize).prop_map(Step::NextPage),
        2 => (selector(), prop::option::of(0..12usize)).prop_map(|(selector, back)| Step::Watch { selector, back }),
        4 => (0..6usize).prop_map(Step::Drain),
        1 => (0..6usize).prop_map(Step::DropWatch),
    ]
}

#[test]
fn the_registry_does_what_the_model_does() {
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 3_000,
        ..ProptestConfig::default()
    };
    let count = Cell::new(0);
    let mut runner = TestRunner::new(config);
    let result = runner.run(&prop::collection::vec(step(), 1..2 * STEPS), |steps| {
        count.set(count.get() + steps.len());
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut fixture = Fixture::new().await;
            for step in steps {
                fixture.step(step).await;
            }
            fixture.finish().await;
        });
        Ok(())
    });
    if let Err(TestError::Fail(reason, steps)) = result {
        let steps: Vec<String> = steps.iter().map(|step| format!("  {step:?}")).collect();
        panic!("{reason}\n{}", steps.join("\n"));
    }
    result.unwrap();
    eprintln!("{} steps", count.get());
}
