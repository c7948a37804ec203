//! Which clients there are, and at what pace.

use super::{
    Load, World, member, producer, producer::Kind, raw_asker, raw_producer, raw_reader, reader,
};
use std::{io, sync::Arc};

/// Names of the groups, without prefix, and their assignment strategies.
pub const GROUPS: [(&str, &str); 2] = [("eager", "range"), ("cooperative", "cooperative-sticky")];

pub fn start_load(world: &Arc<World>) -> io::Result<Load> {
    let mut load = Load::new(world.clone());
    let producers = [
        ("idempotent-1", Kind::Idempotent, 80),
        ("idempotent-2", Kind::Idempotent, 80),
        ("impatient", Kind::Impatient, 80),
        ("once", Kind::Once, 50),
        ("plain", Kind::Plain, 50),
        ("leader", Kind::Leader, 50),
    ];
    for (name, kind, pace) in producers {
        load.client(name, move |world, random, life| {
            producer::live(world, random, life, kind, pace);
        })?;
    }
    for name in ["raw-1", "raw-2"] {
        load.client(name, |world, random, life| raw_producer::live(world, random, life, 60))?;
    }
    for name in ["reader-1", "reader-2"] {
        load.client(name, reader::live)?;
    }
    load.client("raw-reader", raw_reader::live)?;
    for (group, strategy) in GROUPS {
        load.client(format!("raw-asker-{group}"), move |world, random, life| {
            raw_asker::live(world, random, life, group);
        })?;
        for number in 1..=2 {
            load.client(format!("{group}-{number}"), move |world, random, life| {
                member::live(world, random, life, group, strategy);
            })?;
        }
    }
    Ok(load)
}
