//! Tests of `simulated::workload::state`.

use machinery::clock::Clock;
use simulated::workload::state::Rows;
use store::{Key, Operation, Page, Prefix, Revision, Store};

async fn write(store: &Store, name: &str) -> bool {
    let key = Key::parse(&format!("/registry/configmaps/default/{name}")).unwrap();
    let value = |revision: Revision| format!(r#"{{"rv":"{revision}"}}"#).into();
    store.commit(vec![Operation::create(key, value)]).await.is_ok()
}

#[tokio::test]
async fn what_is_told_is_read_and_goes_on_from_there() {
    let rows = Rows::default();
    let store = Store::open(rows.clone(), Clock::system()).await.unwrap();
    assert!(write(&store, "a").await && write(&store, "b").await);
    let text = rows.hold().unwrap();
    assert!(!write(&store, "c").await, "a held cluster takes no writes");
    let there = Rows::read(&text).unwrap();
    let other = Store::open(there, Clock::system()).await.unwrap();
    let everything = |store: &Store| store.list(&Prefix::all(), &Page::default());
    assert_eq!(everything(&store).items, everything(&other).items);
    assert_eq!(store.revision(), other.revision());
    assert!(write(&other, "c").await && other.revision() > store.revision());
    rows.release();
    assert!(write(&store, "c").await);
}

#[test]
fn damage_is_no_state() {
    let text = Rows::default().hold().unwrap();
    assert!(Rows::read(&text).is_ok());
    for damaged in [&text[..text.len() - 9], b"no gzip", b""] {
        assert!(Rows::read(damaged).is_err());
    }
}
