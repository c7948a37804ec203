//! Regular expressions that clients give, of which Kafka has two languages. They are only judged, by the parser of a third
//! (`regex_syntax`), which differs in corners. It takes what it has of its own: `(?x)`, `[a--b]`, `a{1001}`, and for RE2/J
//! `a**` and `[[:foo:]]`. It refuses `[\d-z]`. Of Java's it takes the rest unseen after a look-around, a reference or an
//! escape of Java's alone.

use crate::limits::PATTERN_BYTES_MAX;
use regex_syntax::ast::{ErrorKind, parse::Parser};

/// Whether RE2/J would take it, which Kafka asks about transactional ids.
pub fn is_re2(pattern: &str) -> bool {
    pattern.len() <= PATTERN_BYTES_MAX
        && regex_syntax::parse(&with_literals(&unquoted(pattern))).is_ok()
}

/// Whether Java would take it, which Kafka asks about client metrics. Names of Unicode properties are not looked at.
pub fn is_java(pattern: &str) -> bool {
    if pattern.len() > PATTERN_BYTES_MAX {
        return false;
    }
    let pattern = unquoted(pattern);
    let Err(error) = Parser::new().parse(&pattern) else { return true };
    let at_fault = pattern.get(..error.span().end.offset).unwrap_or_default().chars().next_back();
    match error.kind() {
        ErrorKind::UnsupportedBackreference | ErrorKind::UnsupportedLookAround => true,
        ErrorKind::EscapeUnrecognized => at_fault.is_some_and(|c| "GHNRVXZcehk".contains(c)),
        ErrorKind::FlagUnrecognized => at_fault.is_some_and(|c| ">d".contains(c)),
        _ => false,
    }
}

/// With each `\Q...\E` as what it stands for, both ends of it.
fn unquoted(pattern: &str) -> String {
    let (mut plain, mut rest) = (String::new(), pattern);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        plain.push_str(before);
        if let Some(quoted) = escape.strip_prefix("\\Q") {
            let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            plain.push_str(&regex_syntax::escape(text));
            rest = after;
        } else {
            let (escape, after) = escape.split_at(escape_len(escape));
            plain.push_str(escape);
            rest = after;
        }
    }
    plain + rest
}

/// With the braces that repeat nothing, and the brackets within a class, that RE2/J takes for themselves.
fn with_literals(pattern: &str) -> String {
    let (mut plain, mut rest, mut in_class) = (String::new(), pattern, false);
    while let Some(first) = rest.chars().next() {
        let mut len = first.len_utf8();
        match first {
            '\\' => len = escape_len(rest),
            '[' if in_class && rest.starts_with("[:") => {
                len = rest.find(":]").map_or(2, |end| end + 2);
            }
            '{' if !in_class && !is_repetition(rest) => plain.push('\\'),
            '[' if in_class => plain.push('\\'),
            '[' => {
                in_class = true;
                len += usize::from(rest[len..].starts_with('^'));
                len += usize::from(rest[len..].starts_with(']'));
            }
            ']' => in_class = false,
            _ => {}
        }
        let (taken, after) = rest.split_at(len);
        plain.push_str(taken);
        rest = after;
    }
    plain
}

/// Bytes of the escape that `text` begins with, of its braces too.
fn escape_len(text: &str) -> usize {
    let mut rest = text.chars();
    rest.next();
    let named = matches!(rest.next(), Some('p' | 'P' | 'x')) && rest.as_str().starts_with('{');
    if named && let Some(end) = text.find('}') {
        return end + 1;
    }
    text.len() - rest.as_str().len()
}

/// Whether `text` begins with `{n}`, `{n,}` or `{n,m}`.
fn is_repetition(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((inside, _)) = text[1..].split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    !least.is_empty() && digits(least) && digits(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Kafka 4.1.1 answered ListTransactions.
    #[test]
    fn patterns_of_transactional_ids() {
        let taken = [
            "",
            "\\Qa.b\\E",
            "\\Qa",
            "\\Q(\\E+",
            "a{",
            "{",
            "a{,2}",
            "{a}",
            "a{2",
            "a{2}",
            "a{1000}",
            "[[]",
            "[a[b]",
            "[]a]",
            "[^]a]",
            "\\pL",
            "\\x{41}",
            "\\b{start}",
            "[a&&b]",
            "(?P<n>a)",
            "(?<n>a)",
            "[[:alpha:]]",
            "\\/",
            "\\-",
            "\\d-\\w",
            "(?s-m:a)",
            "}",
            "]",
            "(|a)*",
            "\\p{Greek}",
            "\\\\Q(a)",
            "[{]",
            "é{",
        ];
        for pattern in taken {
            assert!(is_re2(pattern), "{pattern}");
        }
        for pattern in [
            "(", "*", "{2}", "[b-a]", "a{2,1}", "\\q", "\\p{Foo}", "\\8", "(?=a)", "[^]", "[]",
            "a|*", "[a", "\\", "\\\\Q(", "[a--b",
        ] {
            assert!(!is_re2(pattern), "{pattern}");
        }
    }

    /// As Kafka 4.1.1 answered IncrementalAlterConfigs, and as Java documents.
    #[test]
    fn patterns_of_client_metrics() {
        for pattern in [
            "a",
            "a++",
            "}",
            "\\Qa(b\\E",
            "(a)\\1",
            "[a[b]]",
            "a{2000}",
            "]",
            "(?<n>a)",
            "a*+",
            "a?{2}",
            "(?!a)b",
            "\\Ra",
            "(?>a)",
            "(?d)a",
            "\\0101",
        ] {
            assert!(is_java(pattern), "{pattern}");
        }
        for pattern in [
            "[", "(", "*", "a{", "{", "a{2", "\\q", "+", "a)", "x|*", "\\", "a{3", "[b-a]", "(?z)",
            "(?é)",
        ] {
            assert!(!is_java(pattern), "{pattern}");
        }
    }

    /// Classes of Unicode are slow to put together: 3,600 of them took a second.
    #[test]
    fn patterns_are_short() {
        for (bytes, taken) in [(PATTERN_BYTES_MAX, true), (PATTERN_BYTES_MAX + 1, false)] {
            let pattern = "a".repeat(bytes);
            assert_eq!((is_re2(&pattern), is_java(&pattern)), (taken, taken), "{bytes}");
        }
    }
}
