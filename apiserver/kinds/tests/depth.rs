//! Tests of deeply nested JSON in protobuf bodies. At the limit it is decoded on half the stack of a thread, and above it it is
//! refused. A stack overflow aborts the test program.

use kinds::protobuf;
use machinery::limits::MAX_DEPTH;

/// Half the stack of a tokio worker thread (2 MiB), on which the server runs all of this code.
const STACK: usize = 1 << 20;

/// Runs `work` on a thread with half of the usual stack.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

/// Returns text with `levels` levels around `inner`.
fn nested(before: &str, inner: &str, after: &str, levels: usize) -> String {
    [before.repeat(levels), inner.to_owned(), after.repeat(levels)].concat()
}

#[test]
fn protobuf_holds_json_that_is_no_deeper() {
    let field = |number: u64, bytes: &[u8]| {
        let mut writer = protobuf::Writer::default();
        writer.bytes(number, bytes);
        writer.0
    };
    let body = move |levels: usize| {
        let fields = nested("{\"f:a\":", "{}", "}", levels);
        // ConfigMap.metadata.managedFields[].fieldsV1.raw
        let map = field(1, &field(17, &field(7, &field(1, fields.as_bytes()))));
        let kind = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
        [b"k8s\0".as_slice(), &field(1, &kind), &field(2, &map)].concat()
    };
    for (levels, taken) in [(MAX_DEPTH - 1, true), (MAX_DEPTH, false), (1_000_000, false)] {
        let read =
            on_a_small_stack(move || protobuf::decode(&body(levels), None).map(|read| read.to_string()));
        assert_eq!(read.is_ok(), taken, "{levels}: {read:.200?}");
    }
    // Messages in unknown fields are skipped, however deep they are.
    let unknown = (0..5_000).fold(Vec::new(), |inner, _| field(999, &inner));
    on_a_small_stack(move || {
        protobuf::decode(&[b"k8s\0", unknown.as_slice()].concat(), Some(("v1", "ConfigMap"))).unwrap()
    });
}
