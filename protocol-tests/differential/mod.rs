//! Ottla beside Kafka, answer by answer: tables of cases whose answers from Kafka 4.1.1 are in `../goldens/`.
//!
//! A table (`tables/`) has the cases of one API; a case (`case`) is run once for each version and notes its answers down as
//! text (`answer`), in which what differs from run to run is replaced (`names`). An ordinary test run compares Ottla's text
//! with the golden one (`golden`), line by line; where they differ on purpose, `on_purpose` says so and why, and what else
//! differs is a mistake: ours, listed in `FINDINGS.md` until it is mended.
//!
//! - `RECORD=1 BOOTSTRAP=host:port` writes the golden files from that Kafka's answers (`protocol-tests/record` does it);
//! - `BOOTSTRAP=host:port` alone compares that broker with them, without the differences.
//!
//! A new case is an entry of a table, and one run of `record`. Not here: what depends on time, memory or many clients (the
//! other files of `protocol-tests/`).

mod answer;
mod case;
mod golden;
mod names;
mod on_purpose;
mod tables;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use case::{Case, Run};
use golden::Texts;
use on_purpose::Differences;

use crate::broker;

/// Runs of cases at the same time, per API: most of them wait for the broker.
const PARALLEL: usize = 8;
/// Lines of a difference that are shown.
const SHOWN_MAX: usize = 40;

/// Runs every case and records or compares. `key` is the API's: what Ottla does not serve yet is not compared.
fn check(api: &str, key: i16, cases: &[Case]) {
    if !broker::is_foreign() && !ottla::handlers::APIS.iter().any(|served| served.key == key) {
        eprintln!("{api}: not served yet");
        return;
    }
    let (texts, mut wrong) = run_all(cases);

    if std::env::var_os("RECORD").is_some() {
        assert!(broker::is_foreign(), "RECORD needs BOOTSTRAP");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        golden::write(api, &texts);
        return;
    }
    wrong.extend(compare(api, &golden::read(api), &texts));
    let count = wrong.len();
    assert!(wrong.is_empty(), "{api}: {count} answers differ\n\n{}", wrong.join("\n"));
}

/// The texts of all runs, and what went wrong in those that have none.
fn run_all(cases: &[Case]) -> (Texts, Vec<String>) {
    let runs: Vec<(usize, i16)> = (0..cases.len())
        .flat_map(|at| cases[at].versions.clone().map(move |version| (at, version)))
        .collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new((vec![BTreeMap::new(); cases.len()], Vec::new()));
    thread::scope(|scope| {
        for _ in 0..PARALLEL.min(runs.len()) {
            scope.spawn(|| {
                while let Some(&(at, version)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let case = &cases[at];
                    let text = catch_unwind(AssertUnwindSafe(|| Run::of(case, version)));
                    let mut done = done.lock().unwrap();
                    match text {
                        Ok(text) => drop(done.0[at].insert(version, text)),
                        Err(_) => done.1.push(format!("{} v{version}: panicked", case.name)),
                    }
                }
            });
        }
    });
    let (texts, wrong) = done.into_inner().unwrap();
    (cases.iter().map(|case| case.name.to_owned()).zip(texts).collect(), wrong)
}

/// What is not as it should be: missing or left over, different though not on purpose, no longer different.
fn compare(api: &str, golden: &Texts, texts: &Texts) -> Vec<String> {
    let mut golden: BTreeMap<(&str, i16), &String> = flat(golden).collect();
    let mut differences = Differences::of(api);
    let mut wrong: Vec<(&str, i16, i16, String)> = Vec::new();
    // What is wrong in the same way at the next version too is said once.
    let mut say = |case, version, what: String| match wrong.last_mut() {
        Some(last) if (last.0, last.2 + 1, &last.3) == (case, version, &what) => last.2 = version,
        _ => wrong.push((case, version, version, what)),
    };
    for ((case, version), text) in flat(texts) {
        let Some(kafka) = golden.remove(&(case, version)) else {
            say(case, version, "no golden section: protocol-tests/record writes it".to_owned());
            continue;
        };
        let expected = match broker::is_foreign() {
            true => kafka.clone(),
            false => differences.rewrite(case, version, kafka),
        };
        if expected != *text {
            let lines = golden::difference(&expected, text);
            say(case, version, format!("  {}", lines[..lines.len().min(SHOWN_MAX)].join("\n  ")));
        }
    }
    for (case, version) in golden.into_keys() {
        say(case, version, "a golden section of no case".to_owned());
    }
    let line = |(case, first, last, what)| format!("== {case} v{first}-v{last}\n{what}\n");
    let mut wrong: Vec<String> = wrong.into_iter().map(line).collect();
    if !broker::is_foreign() {
        let unused = differences.unused();
        wrong.extend(unused.map(|(case, why)| format!("== {case}\nno longer different: {why}\n")));
    }
    wrong
}

fn flat(texts: &Texts) -> impl Iterator<Item = ((&str, i16), &String)> {
    texts.iter().flat_map(|(case, versions)| {
        versions.iter().map(move |(version, text)| ((case.as_str(), *version), text))
    })
}

/// Every API that is served is compared at every version, and no golden file is left over.
#[test]
fn every_api_is_compared_at_every_version() {
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/protocol-tests/differential/tables");
    let read = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().path();
    let sources: String = std::fs::read_dir(tables)
        .unwrap()
        .map(|entry| std::fs::read_to_string(read(entry)).unwrap())
        .collect();
    let mut wrong = Vec::new();
    for api in golden::all() {
        if !sources.contains(&format!("check({api:?}, ")) {
            wrong.push(format!("goldens/{api}.txt is of no table"));
        }
    }
    for api in ottla::handlers::APIS {
        let name = snake_case(api.name);
        if !golden::all().contains(&name) {
            wrong.push(format!("goldens/{name}.txt is missing"));
            continue;
        }
        let golden = golden::read(&name);
        for version in api.min..=api.max {
            if !golden.iter().any(|(_, versions)| versions.contains_key(&version)) {
                wrong.push(format!("goldens/{name}.txt has nothing of v{version}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `list_offsets` of `ListOffsets`.
fn snake_case(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
