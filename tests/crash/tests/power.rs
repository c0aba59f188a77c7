//! Power failures and failing disks, at every access of a script.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, which prints its seed")]

use crash::disk::{Cut, Failure, Recorder, Recording};
use crash::script::{Mark, admissible, check, formatted, open, perform};
use machinery::random::Random;
use store::CommitError;

const STEPS: usize = 80;
/// The store performs further transactions on every `GO_ON`-th disk image.
const GO_ON: usize = 5;
/// On every `AGAIN`-th disk image the power fails a second time, at each access of the recovery.
const AGAIN: usize = 199;

/// Returns the seeds: `CRASH_SEEDS=N` for N random scripts, `CRASH_SEED=N` to repeat a failure; by default
/// always the same one.
fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("CRASH_SEED"), number("CRASH_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, Some(count)) => (0..count).map(|_| Random::system().number()).collect(),
        (None, None) => vec![1],
    }
}

fn for_each_seed<F: Future<Output = ()>>(run: impl Fn(u64) -> F) {
    for seed in seeds() {
        eprintln!("CRASH_SEED={seed}");
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(seed));
    }
}

async fn record(seed: u64) -> (Recording, Vec<Mark>) {
    let disk = formatted();
    let store = open(&disk).await.unwrap();
    let (marks, error) = perform(&store, &disk, STEPS, &Random::seeded(seed)).await;
    assert!(error.is_none(), "{error:?}");
    drop(store);
    (disk.recording(), marks)
}

#[test]
fn a_power_cut_at_any_access_loses_nothing_answered() {
    for_each_seed(|seed| async move {
        let (recording, marks) = record(seed).await;
        let random = Random::seeded(seed);
        let (mut images, mut again) = (0, 0);
        for moment in 0..recording.moments() {
            let all = [Cut::Lost, Cut::Written, Cut::Torn, Cut::Scattered, Cut::Scattered, Cut::Scattered];
            for cut in if recording.unsynced(moment) { &all[..] } else { &all[..1] } {
                images += 1;
                let image = recording.image(moment, *cut, &random);
                let what = format!("seed {seed}, power cut before access {moment}, {cut:?}");
                let expected = admissible(&marks, moment);
                check(&Recorder::new(image.clone()), &expected, images % GO_ON == 0, &what).await;
                if images % AGAIN == 0 {
                    again += cut_recovery(image, &expected, &random, &what).await;
                }
            }
        }
        eprintln!("{} accesses, {images} images, {again} of cut recoveries", recording.moments() - 1);
    });
}

async fn cut_recovery(
    image: Vec<u8>,
    expected: &[&crash::script::Expected],
    random: &Random,
    what: &str,
) -> usize {
    let disk = Recorder::new(image);
    drop(open(&disk).await.unwrap());
    let recovery = disk.recording();
    for moment in 0..recovery.moments() {
        for cut in [Cut::Lost, Cut::Torn, Cut::Scattered] {
            let image = recovery.image(moment, cut, random);
            let what = format!("{what}, then before access {moment} of the recovery, {cut:?}");
            check(&Recorder::new(image), expected, moment % GO_ON == 0, &what).await;
        }
    }
    recovery.moments() * 3
}

#[test]
fn a_failed_sync_ends_the_store_and_loses_nothing_answered() {
    for_each_seed(|seed| async move {
        let (_, marks) = record(seed).await;
        let random = Random::seeded(seed);
        for pair in marks.windows(2) {
            let disk = formatted();
            let store = open(&disk).await.unwrap();
            disk.fail(pair[0].accesses, Failure::Sync);
            let (met, error) = perform(&store, &disk, STEPS, &Random::seeded(seed)).await;
            assert!(matches!(error, Some(CommitError::Poisoned(_))), "{error:?}");
            assert!(store.failure().is_some());
            drop(store);
            let (recording, last) = (disk.recording(), met.len() - 1);
            let expected = [&met[last].expected, &marks[met.len()].expected];
            for cut in [Cut::Lost, Cut::Written, Cut::Scattered, Cut::Scattered] {
                let image = recording.image(recording.moments() - 1, cut, &random);
                let what = format!("seed {seed}, failed sync after access {}, {cut:?}", pair[0].accesses);
                check(&Recorder::new(image), &expected, true, &what).await;
            }
        }
    });
}

#[test]
fn a_full_disk_refuses_writes_and_harms_nothing() {
    for_each_seed(|seed| async move {
        let (recording, _) = record(seed).await;
        let mut met = 0;
        for (at, failure) in
            (0..recording.moments()).step_by(7).zip([Failure::Full, Failure::FullForAll].into_iter().cycle())
        {
            let disk = formatted();
            let store = open(&disk).await.unwrap();
            disk.fail(at, failure);
            let (_, error) = perform(&store, &disk, STEPS, &Random::seeded(seed)).await;
            let what = format!("seed {seed}, {failure:?} from access {at} on");
            match error {
                Some(CommitError::Full(_)) => met += 1,
                None => {}
                Some(error) => panic!("{what}: {error}"),
            }
            assert!(store.failure().is_none(), "{what}");
            let (mut tried, still) = perform(&store, &disk, 1, &Random::seeded(seed + 2)).await;
            assert!(matches!(still, None | Some(CommitError::Full(_))), "{what}, tried again: {still:?}");
            disk.mend();
            let before = tried.pop().unwrap();
            let (marks, error) = perform(&store, &disk, 3, &Random::seeded(seed + 1)).await;
            assert!(error.is_none(), "{what}, then mended: {error:?}");
            assert_eq!(marks[0].expected, before.expected, "{what}");
            drop(store);
            let recording = disk.recording();
            let image = recording.image(recording.moments() - 1, Cut::Lost, &Random::seeded(seed));
            check(&Recorder::new(image), &[&marks[3].expected], true, &what).await;
        }
        assert!(met > 5, "the disk was never full");
    });
}
