//! What the cluster looks like: `Record`s, committed by the controller's quorum, and the `Image` they make.

pub mod image;
pub mod names;
pub mod record;

pub use image::{Changes, Image, Topic};
pub use record::Record;
