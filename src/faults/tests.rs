//! What faults and planted bugs do.
