//! The certificates of the webhooks over their life.

use chrono::TimeDelta;
use machinery::random::Random;
use pki::{Identity, inspect};
use server::webhooks::certificates::{Pair, due};

#[test]
fn certificates_are_made_once_and_renewed_before_they_end() {
    let random = Random::seeded(1);
    let begin = machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap();
    let after = |days| begin + TimeDelta::days(days);
    let names = vec!["firstlight-webhooks.firstlight-system.svc".to_owned()];
    let due = |pair: Option<&Pair>, names: &[String], days| due(pair, names, after(days), &random).unwrap();
    let public = |identity: &Identity| inspect(&identity.certificate).unwrap().public_key;

    let first = due(None, &names, 0).unwrap();
    assert_eq!(inspect(&first.server.certificate).unwrap().names, names);
    assert_eq!(due(Some(&first), &names, 200), None, "two thirds of a year have not passed");
    let second = due(Some(&first), &names, 250).unwrap();
    assert_eq!(second.authority, first.authority);
    assert_ne!(second.server, first.server);

    let third = due(Some(&second), &names, 2500).unwrap();
    assert_ne!(third.authority.certificate, first.authority.certificate);
    assert_eq!(public(&third.authority), public(&first.authority), "the key stays");

    let others = vec!["firstlight-webhooks.elsewhere.svc".to_owned()];
    let moved = due(Some(&first), &others, 0).unwrap();
    assert_eq!((&moved.authority, moved.server == first.server), (&first.authority, false));

    let damaged = |change: fn(&mut Pair)| {
        let mut pair = first.clone();
        change(&mut pair);
        due(Some(&pair), &names, 0).unwrap()
    };
    let kept = damaged(|pair| pair.server.key = "damaged".into());
    assert_eq!(kept.authority, first.authority);
    let made = damaged(|pair| pair.authority.certificate = "damaged".into());
    assert_ne!(public(&made.authority), public(&first.authority));
    let mixed = damaged(|pair| pair.authority.key = pair.server.key.clone());
    assert_ne!(public(&mixed.authority), public(&first.authority));
}
