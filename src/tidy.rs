//! The shape of the code, checked: who may use whom, what must stay pure, how long a file may get, and that the README
//! says what is served.
//!
//! THINK before you widen `ALLOWED`: it is the architecture.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// What each top-level module may name, beside `ids` and `limits`, which everyone may.
const ALLOWED: &[(&str, &[&str])] = &[
    ("ids", &[]),
    ("limits", &[]),
    ("config", &[]),
    ("machine", &[]),
    ("wire", &[]),
    ("storage", &[]),
    ("faults", &["wire", "storage"]),
    ("cluster", &["wire", "machine", "storage", "config"]),
    ("partition", &["wire", "machine", "storage", "cluster", "config"]),
    ("group", &["wire", "machine", "cluster", "config"]),
    ("controller", &["wire", "machine", "storage", "cluster", "config"]),
    ("session", &["wire"]),
    (
        "handlers",
        &["wire", "session", "partition", "group", "controller", "cluster", "config", "machine"],
    ),
    ("net", &["wire", "session", "handlers", "config"]),
];

/// Modules that decide: no tokio, no clock, no files.
const PURE: &[&str] = &[
    "src/machine/mod.rs",
    "src/wire/",
    "src/cluster/",
    "src/config/topic",
    "src/controller/machine",
    "src/group/classic",
    "src/group/machine.rs",
    "src/group/offsets.rs",
    "src/group/records.rs",
    "src/partition/replica.rs",
    "src/partition/producers.rs",
    "src/partition/validate.rs",
    "src/session/",
];

/// Lines of a file, tests not counted.
const LINES_MAX: usize = 800;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("the folder exists") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Path from the root, and text.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    rust_files(&root().join("src"), &mut files);
    rust_files(&root().join("protocol-tests"), &mut files);
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("source is UTF-8");
            (path.strip_prefix(root()).expect("below the root").display().to_string(), text)
        })
        .collect()
}

fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs")
        || path.contains("/tests/")
        || path.starts_with("src/sim")
        || path == "src/tidy.rs"
        || path == "src/machine/script.rs"
}

/// The part of a file that is not its inline tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// Top-level modules named through `crate::`, grouped imports included.
fn modules_named(text: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            let mut fresh = true;
            for c in group.chars() {
                if depth == 0 && fresh && (c.is_alphanumeric() || c == '_') {
                    word.push(c);
                    continue;
                }
                if !word.is_empty() {
                    named.insert(std::mem::take(&mut word));
                    fresh = false;
                }
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => fresh = true,
                    _ => {}
                }
            }
            if !word.is_empty() {
                named.insert(word);
            }
        } else {
            named.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    named
}

#[test]
fn grouped_imports_are_seen() {
    let named = modules_named("use crate::{ids::{A, B}, wire, storage::mem};\n crate::net::x");
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["ids", "net", "storage", "wire"]);
}

#[test]
fn modules_use_only_what_they_may() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(module) = path.strip_prefix("src/").and_then(|p| p.split(['/', '.']).next())
        else {
            continue;
        };
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == module) else { continue };
        if is_test(&path) {
            continue;
        }
        for used in modules_named(without_tests(&text)) {
            let common = ["ids", "limits", module].contains(&used.as_str());
            if !common && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{path} uses crate::{used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "not allowed:\n{}", wrong.join("\n"));
}

#[test]
fn what_decides_is_pure() {
    let impure = ["tokio", "std::fs", "std::net::Tcp", "Instant::now", "SystemTime"];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if is_test(&path) || !PURE.iter().any(|pure| path.starts_with(pure)) {
            continue;
        }
        for word in impure {
            let code = without_tests(&text).lines().filter(|l| !l.trim_start().starts_with("//"));
            if code.into_iter().any(|line| line.contains(word)) {
                wrong.push(format!("{path} names {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "pure modules must not:\n{}", wrong.join("\n"));
}

#[test]
fn files_open_with_their_purpose_and_stay_small() {
    let banned =
        [concat!("FIX", "ME"), concat!("XX", "X"), concat!("todo", "!("), concat!("db", "g!(")];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if !text.starts_with("//!") {
            wrong.push(format!("{path} does not open with //!"));
        }
        let lines = without_tests(&text).lines().count();
        if lines > LINES_MAX && !is_test(&path) {
            wrong.push(format!("{path} has {lines} lines"));
        }
        for word in banned {
            if text.contains(word) {
                wrong.push(format!("{path} contains {word}"));
            }
        }
        for name in ["utils", "manager", "helpers", "common"] {
            if path.split(['/', '.']).any(|part| part == name) {
                wrong.push(format!("{path}: no module may be called {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_api_has_a_handler_and_a_protocol_test() {
    let mut wrong = Vec::new();
    for api in crate::handlers::APIS {
        let file = snake_case(api.name);
        for path in [format!("src/handlers/{file}.rs"), format!("protocol-tests/{file}.rs")] {
            let single = root().join(&path).exists();
            let folder = root().join(path.replace(".rs", "/mod.rs")).exists();
            if !single && !folder {
                wrong.push(format!("{path} is missing"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_readme_lists_what_is_served() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md exists");
    let rows: Vec<String> = crate::handlers::APIS
        .iter()
        .map(|api| format!("| {} | {} | {}-{} |", api.name, api.key, api.min, api.max))
        .collect();
    let missing: Vec<_> = rows.iter().filter(|row| !readme.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "README.md lacks these rows:\n{missing:#?}");
    let listed = readme.lines().filter(|l| l.starts_with("| ") && l.ends_with(" |")).filter(|l| {
        let cells: Vec<&str> = l.trim_matches('|').split('|').map(str::trim).collect();
        cells.len() == 3 && cells[1].parse::<i16>().is_ok() && cells[2].contains('-')
    });
    assert_eq!(listed.count(), rows.len(), "README.md lists an API that is not served");
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.char_indices() {
        if c.is_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
