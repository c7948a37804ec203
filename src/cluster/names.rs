//! What a topic may be called (Kafka's `Topic`).

/// Bytes of the longest name: file names of 255 bytes less `-partition`.
const LENGTH_MAX: usize = 249;

/// The topic that holds group offsets.
pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";
/// The topic that holds transactions.
pub const TRANSACTION_STATE: &str = "__transaction_state";
/// The name Kafka keeps for its metadata log.
pub const CLUSTER_METADATA: &str = "__cluster_metadata";

/// Topics that belong to the broker: marked in Metadata, not made by clients' produce.
pub fn is_internal(name: &str) -> bool {
    name == CONSUMER_OFFSETS || name == TRANSACTION_STATE
}

/// Ok, or Kafka's words for what is wrong with `name`.
pub fn validate(name: &str) -> Result<(), String> {
    let reason = match name {
        "" => "the empty string is not allowed".to_owned(),
        "." => "'.' is not allowed".to_owned(),
        ".." => "'..' is not allowed".to_owned(),
        _ if name.encode_utf16().count() > LENGTH_MAX => {
            format!("the length of '{name}' is longer than the max allowed length {LENGTH_MAX}")
        }
        _ if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) => format!(
            "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        ),
        _ => return Ok(()),
    };
    Err(format!("Topic name is invalid: {reason}"))
}

/// Names with a `.` or `_` can collide with each other.
pub fn has_collision_chars(name: &str) -> bool {
    name.contains(['.', '_'])
}

/// Equal for names that collide.
pub fn unified(name: &str) -> String {
    name.replace('.', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let long = "x".repeat(249);
        for good in ["a", "A-b_c.9", "...", &long] {
            assert_eq!(validate(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "a b", "é", "a/b", "a\0", &"x".repeat(250)] {
            assert!(validate(bad).is_err(), "{bad}");
        }
        assert_eq!(
            validate("a b").unwrap_err(),
            "Topic name is invalid: 'a b' contains one or more characters other than \
             ASCII alphanumerics, '.', '_' and '-'"
        );
        assert_eq!(unified("a.b_c"), unified("a_b.c"));
    }
}
