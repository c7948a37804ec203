//! Error messages of one answer. They name what was asked for, so a small request could ask for a huge answer: beyond a bound
//! errors come without words.

use crate::{limits::ERROR_MESSAGES_BYTES_MAX, wire::StrBytes};

pub(super) struct Messages {
    left: usize,
}

impl Default for Messages {
    fn default() -> Messages {
        Messages { left: ERROR_MESSAGES_BYTES_MAX }
    }
}

impl Messages {
    pub fn take(&mut self, message: impl Into<String>) -> Option<StrBytes> {
        let message: String = message.into();
        self.left = self.left.saturating_sub(message.len());
        (self.left > 0).then(|| StrBytes::from_string(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_bound_there_are_no_words() {
        let mut messages = Messages::default();
        let long = "x".repeat(ERROR_MESSAGES_BYTES_MAX / 2);
        assert!(messages.take(long.clone()).is_some());
        assert!(messages.take(long).is_none());
        assert!(messages.take("x").is_none());
    }
}
