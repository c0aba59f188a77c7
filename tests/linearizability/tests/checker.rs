//! Checks that the checker accepts correct histories, and refuses each history with a single error.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use linearizability::check::check;
use linearizability::history::{
    Answer, History, Kind, Listing, Moment, Operation, Request, Revision, Seen, Watching,
};

const KEPT: u64 = 100;
const A: &str = "default/a";
const B: &str = "default/b";

/// A history built line by line, with explicit moments.
#[derive(Default)]
struct Story(History);

impl Story {
    fn ask(&self, key: &str, call: Moment, end: Moment, request: Request, answer: Answer) -> &Self {
        self.0.operations.lock().push(Operation { key: key.into(), call, end, request, answer });
        self
    }

    fn create(&self, key: &str, call: Moment, end: Moment, revision: Revision) -> &Self {
        self.ask(key, call, end, Request::Create(value(revision)), Answer::Written(revision))
    }

    fn update(&self, key: &str, call: Moment, end: Moment, expected: Revision, revision: Revision) -> &Self {
        self.ask(key, call, end, Request::Update(expected, value(revision)), Answer::Written(revision))
    }

    fn delete(&self, key: &str, call: Moment, end: Moment, expected: Revision) -> &Self {
        self.ask(key, call, end, Request::Delete(expected), Answer::Deleted)
    }

    fn read(&self, key: &str, call: Moment, end: Moment, revision: Revision) -> &Self {
        self.ask(key, call, end, Request::Read, Answer::Found(revision, value(revision)))
    }

    fn missing(&self, key: &str, call: Moment, end: Moment) -> &Self {
        self.ask(key, call, end, Request::Read, Answer::Missing)
    }

    fn unknown(&self, key: &str, call: Moment, request: Request) -> &Self {
        self.ask(key, call, call + 1, request, Answer::Unknown)
    }

    fn list(&self, call: Moment, end: Moment, revisions: &[Revision], items: &[(&str, Revision)]) -> &Self {
        let items =
            items.iter().map(|(key, revision)| ((*key).into(), *revision, value(*revision))).collect();
        self.0.listings.lock().push(Listing {
            namespace: String::new(),
            call,
            end,
            revisions: revisions.into(),
            items,
        });
        self
    }

    fn watch(&self, from: Revision, told: Vec<Seen>) -> &Self {
        let told = told.into_iter().map(|told| (1_000, told)).collect();
        self.0.watches.lock().push(Watching { from, told, ..Watching::default() });
        self
    }

    fn violations(&self) -> Vec<String> {
        check(&self.0, KEPT).violations
    }

    /// Asserts that the history is refused with a violation that contains `words`.
    fn refused(&self, words: &str) {
        let violations = self.violations();
        assert!(
            violations.iter().any(|violation| violation.contains(words)),
            "{words:?} is not in {violations:?}"
        );
    }

    fn accepted(&self) {
        assert_eq!(self.violations(), Vec::<String>::new());
    }
}

/// Returns the value written with a revision.
fn value(revision: Revision) -> String {
    format!("v{revision}")
}

fn event(kind: Kind, key: &str, revision: Revision, shown: Revision) -> Seen {
    Seen::Event(kind, key.into(), revision, value(shown))
}

fn added(key: &str, revision: Revision) -> Seen {
    event(Kind::Added, key, revision, revision)
}

fn modified(key: &str, revision: Revision) -> Seen {
    event(Kind::Modified, key, revision, revision)
}

/// Returns a history of two objects; one is changed and then deleted with revision 14.
fn right() -> Story {
    let story = Story::default();
    story.create(A, 1, 2, 10).create(B, 3, 6, 11).update(A, 5, 8, 10, 12).update(B, 9, 10, 11, 13);
    story.delete(A, 11, 12, 12).missing(A, 13, 14);
    story
}

/// Returns the events of a watch of that history.
fn events() -> Vec<Seen> {
    vec![added(A, 10), added(B, 11), modified(A, 12), modified(B, 13), event(Kind::Deleted, A, 14, 12)]
}

#[test]
fn right_histories_are_accepted() {
    right().watch(9, events()).accepted();
    right().watch(9, events()).watch(11, events().split_off(2)).accepted();
    let bookmarked = [events(), vec![Seen::Bookmark(14), Seen::Bookmark(20)]].concat();
    right().watch(9, bookmarked).list(15, 16, &[14, 14], &[(B, 13)]).accepted();
    // A bookmark of the watch's start means that nothing has happened.
    right().watch(9, events()).watch(14, vec![Seen::Bookmark(14)]).accepted();
    // A read concurrent with a write returns either value.
    right().watch(9, events()).read(A, 6, 7, 10).accepted();
    right().watch(9, events()).read(A, 6, 7, 12).accepted();
    // An unanswered request happened or not.
    right().watch(9, events()).unknown(B, 20, Request::Patch(value(15))).read(B, 30, 31, 13).accepted();
    right()
        .watch(9, events())
        .unknown(B, 20, Request::Patch(value(15)))
        .read(B, 30, 31, 13)
        .read(B, 32, 33, 15)
        .accepted();
    let deleted = [events(), vec![event(Kind::Deleted, B, 15, 13)]].concat();
    right().watch(9, deleted.clone()).unknown(B, 20, Request::Delete(13)).missing(B, 30, 31).accepted();
    // Of two unanswered requests for the same deletion, one was executed.
    right()
        .watch(9, deleted)
        .unknown(B, 20, Request::Delete(13))
        .unknown(B, 25, Request::Delete(13))
        .missing(B, 30, 31)
        .accepted();
}

#[test]
fn wrong_answers_are_refused() {
    // A stale read: A already had revision 12 when the read was sent.
    right().watch(9, events()).read(A, 9, 10, 10).refused("not linearizable");
    // Reads that go back in time.
    right().watch(9, events()).read(A, 6, 6, 12).read(A, 7, 7, 10).refused("not linearizable");
    // A lost write: acknowledged but missing.
    right()
        .watch(9, events())
        .create("default/c", 20, 21, 15)
        .missing("default/c", 22, 23)
        .refused("not linearizable");
    // Two updates of the same revision.
    right().watch(9, events()).update(B, 20, 21, 11, 15).refused("not linearizable");
    // A conflict although the revision was current.
    let conflict = Answer::Conflict;
    right()
        .watch(9, events())
        .ask(B, 20, 21, Request::Update(13, value(15)), conflict)
        .refused("not linearizable");
    // A successful create of an existing object.
    right().watch(9, events()).create(B, 20, 21, 15).refused("not linearizable");
    // An unanswered write was observed and then disappeared.
    right()
        .watch(9, events())
        .unknown(B, 20, Request::Patch(value(15)))
        .read(B, 30, 31, 15)
        .read(B, 32, 33, 13)
        .refused("not linearizable");
}

#[test]
fn wrong_revisions_are_refused() {
    right().watch(9, events()).create("default/c", 20, 21, 13).refused("revision 13 is used twice");
    let story = right();
    story.create("default/c", 20, 21, 30).create("default/d", 22, 23, 29);
    story.refused("before 29 was asked for");
    right().watch(9, events()).list(15, 16, &[12], &[(A, 12), (B, 11)]).refused("is stale: 13");
    right().watch(9, events()).list(3, 4, &[13], &[(A, 12), (B, 13)]).refused("before 12 was asked for");
    right().watch(9, events()).list(15, 16, &[13, 14], &[(B, 13)]).refused("different revisions");
    let story = right();
    story.watch(9, events()).list(15, 16, &[16], &[(B, 13)]).list(17, 18, &[15], &[(B, 13)]);
    story.refused("after one has shown 16");
    // A list with an object of another moment.
    right().watch(9, events()).list(9, 12, &[13], &[(A, 10), (B, 13)]).refused("what was there is");
    right().watch(9, events()).list(15, 16, &[14], &[]).refused("what was there is");
}

#[test]
fn wrong_watches_are_refused() {
    let changed = |change: fn(&mut Vec<Seen>)| {
        let mut told = events();
        change(&mut told);
        told
    };
    // The log is known from a correct watch.
    let refused = |from: Revision, told: Vec<Seen>, words: &str| {
        right().watch(9, events()).watch(from, told).refused(words);
    };
    refused(9, changed(|told| told.swap(1, 2)), "with revision 11 after 12");
    refused(9, changed(|told| told.insert(2, added(B, 11))), "two events of revision 11");
    refused(9, changed(|told| told.push(added(B, 11))), "with revision 11 after 14");
    refused(9, changed(|told| drop(told.remove(2))), "an event is missing");
    refused(9, vec![added(A, 10), added(B, 11), Seen::Bookmark(13)], "an event is missing");
    refused(11, events(), "with revision 10 after 11");
    refused(10, events().split_off(2), "an event is missing");
    refused(9, changed(|told| told.insert(2, Seen::Bookmark(13))), "with revision 12 after 13");
    refused(9, [events(), vec![Seen::Bookmark(12)]].concat(), "a bookmark of 12 after 14");
    refused(9, changed(|told| told[2] = added(A, 12)), "tells of");
    refused(9, changed(|told| told[4] = event(Kind::Deleted, A, 14, 10)), "tells of");
    refused(9, changed(|told| told[2] = event(Kind::Modified, A, 12, 10)), "is used twice");
    // An acknowledged write that no watch reports.
    right()
        .watch(9, events())
        .create("default/c", 20, 21, 15)
        .watch(9, [events(), vec![Seen::Bookmark(16)]].concat())
        .refused("an event is missing");
    let story = right();
    story.watch(9, events());
    story.0.watches.lock().push(Watching { from: 9, expired: true, ..Watching::default() });
    story.refused("expired");
}
