//! What consumers consume: the one thing the coordinator reads in their metadata. It decides which offsets expire and which
//! may be deleted.

use super::Group;
use crate::wire::subscribed_topics;
use std::collections::BTreeSet;

impl Group {
    /// Topics of all members; None when the group is of another kind or a member's metadata cannot be read.
    pub(super) fn subscriptions(&self) -> Option<BTreeSet<String>> {
        if !self.is_consumer() {
            return None;
        }
        let mut topics = BTreeSet::new();
        if !self.members.is_empty() {
            let protocol = self.protocol.as_deref()?;
            for member in self.members.values() {
                topics.extend(subscribed_topics(&member.metadata(protocol))?);
            }
        }
        Some(topics)
    }
}
