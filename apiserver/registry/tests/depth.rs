//! Objects and definitions of the maximum depth pass through every verb on half the stack of a thread.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::registry::common;
use machinery::clock::Clock;
use machinery::decode;
use machinery::limits::MAX_DEPTH;
use machinery::random::Random;
use registry::{Context, Input, Options, PatchBody, Registry, Subresource};
use serde_json::{Value, json};
use store::{Memory, Store};

/// Returns `{"d": {"d": … 1}}`.
fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!({"d": inner}))
}

/// Runs `work` on half the stack of tokio's threads.
fn on_a_small_stack(work: impl Future<Output = ()> + Send + 'static) {
    let run = move || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(work);
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn the_deepest_object_goes_through_every_verb() {
    on_a_small_stack(async {
        let (registry, _) = common::registry().await;
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
        let served = common::serve(
            &registry,
            &common::definition("deeps", json!([common::version("v1", true, schema)])),
        )
        .await;
        // Two levels enclose it: the object itself and `spec`.
        let object = json!({"apiVersion": "test.example.com/v1", "kind": "Deep", "metadata": {"name": "a"},
            "spec": deep(MAX_DEPTH - 2)});
        let text = object.to_string();
        let decoded = decode::json(text.as_bytes()).unwrap().value;
        let mut context = Context::internal("test");
        registry.create(&mut context, &served, "default", Input::new(decoded)).await.unwrap();
        let patch = PatchBody::Merge(json!({"metadata": {"labels": {"a": "b"}}}).to_string().into());
        registry.patch(&mut context, &served, "default", "a", Subresource::None, patch).await.unwrap();
        let got = registry.get(&served, "default", "a", Subresource::None, "").await.unwrap();
        let got: Value = decode::own(&got).unwrap();
        assert_eq!(got["spec"], object["spec"]);
        assert_eq!(got["metadata"]["labels"], json!({"a": "b"}));
    });
}

/// An accepted definition is served, also after a restart.
#[test]
fn the_deepest_definition_is_served() {
    on_a_small_stack(async {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let engine = Memory::new();
        let open = async || {
            let store = Store::open(engine.clone(), clock.clone()).await.unwrap();
            Registry::open(store, clock.clone(), Random::seeded(1), Options::default()).await.unwrap()
        };
        let registry = open().await;
        // Six levels enclose the schema, and each nested field takes two.
        let fields = (MAX_DEPTH - 8) / 2;
        let schema = (0..fields).fold(
            json!({"type": "string"}),
            |inner, _| json!({"type": "object", "properties": {"d": inner}}),
        );
        let definition = common::definition("deeps", json!([common::version("v1", true, schema)]));
        assert!(decode::json(definition.to_string().as_bytes()).is_ok());
        common::serve(&registry, &definition).await;
        drop(registry);
        let served = open().await.served(common::GROUP, "v1", "deeps");
        assert!(served.is_some());
    });
}

#[test]
fn one_level_more_is_refused() {
    assert!(decode::json(deep(MAX_DEPTH).to_string().as_bytes()).is_ok());
    let error = decode::json(deep(MAX_DEPTH + 1).to_string().as_bytes()).unwrap_err();
    assert!(error.contains("exceeded max depth"), "{error}");
}
