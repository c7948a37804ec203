//! The files in `goldens/`: what Kafka answered, one file per API, and the comparison with it.
//!
//! A file has a section for each case (`== its name`) and in it one for each version (`-- v3`); versions next to each other
//! with the same text share one (`-- v3-v5`). Lines are compared, never parsed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

const HEAD: &str =
    "# What Apache Kafka 4.1.1 answers. Written by protocol-tests/record; not to be edited.\n";

/// The text of each run of each case of a file, in the order of the cases.
pub type Texts = Vec<(String, BTreeMap<i16, String>)>;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("protocol-tests/goldens")
}

fn path(api: &str) -> PathBuf {
    folder().join(format!("{api}.txt"))
}

/// The names of all files.
pub fn all() -> Vec<String> {
    let name = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let files = fs::read_dir(folder()).expect("the golden files are there");
    files.map(|entry| name(entry.expect("readable").path())).collect()
}

pub fn write(api: &str, texts: &Texts) {
    fs::write(path(api), print(texts)).expect("the golden file can be written");
}

fn print(texts: &Texts) -> String {
    let mut out = HEAD.to_owned();
    for (case, versions) in texts {
        let _ = writeln!(out, "\n== {case}");
        let mut versions = versions.iter().peekable();
        while let Some((first, text)) = versions.next() {
            let mut last = first;
            while let Some((version, _)) = versions.next_if(|(_, next)| *next == text) {
                last = version;
            }
            let range = if first == last { String::new() } else { format!("-v{last}") };
            let _ = write!(out, "-- v{first}{range}\n{text}");
        }
    }
    out
}

pub fn read(api: &str) -> Texts {
    let path = path(api);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; protocol-tests/record writes it", path.display());
    });
    parse(&text)
}

fn parse(text: &str) -> Texts {
    let mut texts = Texts::new();
    for section in text.split("\n== ").skip(1) {
        let (name, blocks) = section.split_once('\n').expect("a section has lines");
        let mut versions = BTreeMap::new();
        for block in format!("\n{blocks}\n").split("\n-- v").skip(1) {
            let (range, lines) = block.split_once('\n').expect("a block has lines");
            let (first, last) = range.split_once("-v").unwrap_or((range, range));
            let number = |text: &str| -> i16 { text.parse().expect("a version") };
            for version in number(first)..=number(last) {
                versions.insert(version, format!("{}\n", lines.trim_end()));
            }
        }
        texts.push((name.to_owned(), versions));
    }
    texts
}

/// The lines that only one of them has, in order: `- ` of the first, `+ ` of the second.
pub fn difference(one: &str, other: &str) -> Vec<String> {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    let width = other.len() + 1;
    // The longest common sequence of what is left from (i, j) on.
    let mut common = vec![0u32; (one.len() + 1) * width];
    for i in (0..one.len()).rev() {
        for j in (0..other.len()).rev() {
            common[i * width + j] = if one[i] == other[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < one.len() || j < other.len() {
        if i < one.len() && j < other.len() && one[i] == other[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == other.len()
            || i < one.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]
        {
            lines.push(format!("- {}", one[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", other[j]));
            j += 1;
        }
    }
    lines
}

#[test]
fn versions_with_the_same_text_share_a_section() {
    let text = |versions: &[(i16, &str)]| {
        versions.iter().map(|(version, text)| (*version, format!("{text}\n"))).collect()
    };
    let texts = vec![
        ("one".to_owned(), text(&[(0, "A\n  a: 1"), (1, "A\n  a: 1"), (2, "A\n  a: 2")])),
        ("two".to_owned(), text(&[(7, "B")])),
    ];
    let written = print(&texts);
    let expected = "\n== one\n-- v0-v1\nA\n  a: 1\n-- v2\nA\n  a: 2\n\n== two\n-- v7\nB\n";
    assert_eq!(written, format!("{HEAD}{expected}"));
    assert_eq!(parse(&written), texts);
}

#[test]
fn a_difference_is_what_only_one_has() {
    assert!(difference("a\nb\n", "a\nb\n").is_empty());
    assert_eq!(difference("a\nb\nc\n", "a\nx\nc\nd\n"), ["- b", "+ x", "+ d"]);
}
