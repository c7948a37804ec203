//! How one setting is changed (Kafka's `AlterConfigOp`): what was set before and what is asked make what is set then.

use std::collections::{HashMap, HashSet};

/// What IncrementalAlterConfigs asks of one setting; discriminants are those of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Set = 0,
    Delete = 1,
    /// Elements of a list are added.
    Append = 2,
    /// Elements of a list are removed.
    Subtract = 3,
}

impl Op {
    pub fn from_code(code: i8) -> Option<Op> {
        [Op::Set, Op::Delete, Op::Append, Op::Subtract].into_iter().find(|op| *op as i8 == code)
    }

    /// Whether it is for lists alone.
    pub fn needs_list(self) -> bool {
        matches!(self, Op::Append | Op::Subtract)
    }

    /// `APPEND`, as Kafka's messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Op::Set => "SET",
            Op::Delete => "DELETE",
            Op::Append => "APPEND",
            Op::Subtract => "SUBTRACT",
        }
    }
}

/// A change of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alteration {
    pub name: String,
    pub op: Op,
    /// Without meaning for `Delete`.
    pub value: String,
}

impl Alteration {
    /// What is set then; None: nothing. A list that is not set `now` starts from its `default`.
    pub fn apply(&self, now: Option<&str>, default: Option<&str>) -> Option<String> {
        let list = || {
            let parts = now.or(default).unwrap_or_default().split(',');
            parts.filter(|part| !part.is_empty()).collect::<Vec<_>>()
        };
        match self.op {
            Op::Set => Some(self.value.clone()),
            Op::Delete => None,
            Op::Append => {
                let mut list = list();
                let mut there: HashSet<&str> = list.iter().copied().collect();
                list.extend(elements(&self.value).filter(|part| there.insert(part)));
                Some(list.join(","))
            }
            Op::Subtract => {
                let mut times: HashMap<&str, usize> = HashMap::new();
                elements(&self.value).for_each(|part| *times.entry(part).or_default() += 1);
                let mut list = list();
                list.retain(|part| match times.get_mut(part) {
                    None | Some(0) => true,
                    Some(times) => {
                        *times -= 1;
                        false
                    }
                });
                Some(list.join(","))
            }
        }
    }
}

/// `String.split` of Java: empty elements at the end do not count, but an empty text has one.
fn elements(text: &str) -> impl Iterator<Item = &str> {
    text.trim_end_matches(',').split(',').filter(move |_| text.is_empty() || !is_separators(text))
}

fn is_separators(text: &str) -> bool {
    text.bytes().all(|byte| byte == b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_and_shrink() {
        use Op::{Append, Delete, Set, Subtract};
        let cases = [
            (Set, "x", Some("a"), Some("x")),
            (Delete, "x", Some("a"), None),
            (Append, "b,c,b", Some("a"), Some("a,b,c")),
            (Append, "a", Some("a"), Some("a")),
            (Append, "b", None, Some("d,b")),
            (Append, "b", Some(""), Some("b")),
            (Append, ",b,,", Some("a"), Some("a,,b")),
            (Append, "", Some("a"), Some("a,")),
            (Append, ",", Some("a"), Some("a")),
            (Subtract, "a,x", Some("a,b,a"), Some("b,a")),
            (Subtract, "d", None, Some("")),
            (Subtract, "", Some("a"), Some("a")),
        ];
        for (op, value, now, then) in cases {
            let alteration = Alteration { name: "n".to_owned(), op, value: value.to_owned() };
            assert_eq!(alteration.apply(now, Some("d")).as_deref(), then, "{op:?} {value} {now:?}");
        }
    }

    #[test]
    fn operations_have_kafkas_codes() {
        let names: Vec<_> = (0..=4).map(|code| Op::from_code(code).map(Op::name)).collect();
        let expected = [Some("SET"), Some("DELETE"), Some("APPEND"), Some("SUBTRACT"), None];
        assert_eq!(names, expected);
        assert_eq!(Op::from_code(-1), None);
    }
}
