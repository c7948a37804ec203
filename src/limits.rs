//! Every bound with its unit and its reason. What a client can make the broker reserve, queue or keep is listed here;
//! sizes a user may choose are in `config`, their ceilings here.

use rustix::process::{Resource, getrlimit};

/// Bytes of a frame before its connection has authenticated, or of any request that is not Produce.
/// Kafka's largest admin requests (thousands of topics with configs) stay far below.
pub const FRAME_BYTES_MAX: usize = 8 << 20;
/// Elements of all arrays plus tagged fields in one request.
pub const REQUEST_ELEMENTS_MAX: usize = 1_000_000;
/// The same before authentication.
pub const REQUEST_ELEMENTS_MAX_UNAUTHENTICATED: usize = 10_000;
/// Memory a decoded request may take: this much, plus `REQUEST_MEMORY_FACTOR` times its frame, never above `REQUEST_MEMORY_MAX`.
pub const REQUEST_MEMORY_BASE: usize = 64 << 10;
/// See `REQUEST_MEMORY_BASE`.
pub const REQUEST_MEMORY_FACTOR: usize = 100;
/// See `REQUEST_MEMORY_BASE`.
pub const REQUEST_MEMORY_MAX: usize = 256 << 20;
/// Commands waiting in one machine's or partition's mailbox.
pub const MAILBOX_MAX: usize = 1024;
/// Produce requests of one connection that may be in progress at once (answers leave in order).
pub const PRODUCE_IN_FLIGHT_MAX: usize = 64;
/// Batches up to this many bytes lie inside their RocksDB entry; larger ones in segment files.
pub const INLINE_BATCH_BYTES_MAX: usize = 4 << 10;
/// Bytes of one file range that are handed to a socket at a time.
pub const FILE_PIECE_BYTES_MAX: usize = 256 << 10;
/// Groups of one node's coordinators, each partition of `__consumer_offsets` its share: about 1 KiB each without members.
/// Kafka has no bound; groups without members and offsets go at the next look for what has expired.
pub const GROUPS_MAX: usize = 1_000_000;
/// Members of one group, those included that were only given an id. Kafka has no bound beside `group.max.size`; its largest
/// known groups have some thousands.
pub const GROUP_MEMBERS_MAX: usize = 50_000;
/// Bytes of all members of one group: what they say of themselves for every protocol they support.
pub const GROUP_MEMBER_BYTES_MAX: usize = 64 << 20;
/// Memory of all Produce frames of a listener that arrive or are in use, up to 1 MiB of each (up to 16 KiB: not counted).
pub const FRAMES_BYTES_MAX: usize = 128 << 20;
/// The same for what frames have above 1 MiB; at least one frame of `socket.request.max.bytes` fits in any case.
pub const LARGE_FRAMES_BYTES_MAX: usize = 256 << 20;
/// Both of these for all other requests.
pub const OTHER_FRAMES_BYTES_MAX: usize = 64 << 20;
/// Of that memory, what is kept for the next frames while none needs it.
pub const FRAME_BUFFERS_KEPT_BYTES_MAX: usize = 8 << 20;
/// Milliseconds without a byte after which a frame with a buffer of its own is given up.
pub const FRAME_STALL_MS_MAX: u64 = 30_000;
/// Seconds in which the memory a frame holds would be filled at the pace it must keep while other frames wait for memory.
pub const FRAME_PACE_SECONDS: usize = 64;
/// A connection begins no further request while this many bytes of answers are unsent.
pub const UNSENT_BYTES_MAX: usize = 256 << 10;
/// The same in slices, so that many small answers cost no more than a few large ones.
pub const UNSENT_SLICES_MAX: usize = 1024;
/// Milliseconds a closing connection may take to send the answers it has.
pub const CLOSE_FLUSH_MS_MAX: u64 = 5_000;
/// Milliseconds a request may still wait when its client has sent its last: clients that only closed their half want the
/// answer, and the others cannot be told from them. Longer than any usual `fetch.max.wait.ms`.
pub const HALF_CLOSED_MS_MAX: u64 = 10_000;
/// Milliseconds connections get at shutdown to answer what is in progress; a stop takes under 300 in all.
pub const SHUTDOWN_ANSWER_MS_MAX: u64 = 150;
/// Connections of one listener, whatever `max.connections` says.
pub const CONNECTIONS_MAX: usize = 100_000;
/// Milliseconds between attempts to accept when file descriptors have run out.
pub const ACCEPT_BACK_OFF_MS: u64 = 100;
/// Idempotent producers a partition remembers (about 200 bytes each); beyond it those that wrote longest ago go, ten in a
/// hundred at once. Kafka has no bound; a producer that is forgotten may go on with any sequence.
pub const PRODUCERS_PER_PARTITION_MAX: usize = 10_000;
/// Producers one DescribeProducers tells of: a partition may be named again and again. 50 bytes each.
pub const DESCRIBED_PRODUCERS_MAX: usize = 200_000;
/// Batches after which a partition's producer state is kept anew: what a start has to replay at most beside what the high
/// watermark had not reached, 80 bytes each.
pub const PRODUCER_SNAPSHOT_BATCHES: u64 = 4096;
/// Summaries read at a time while producer state is replayed.
pub const REPLAY_BATCHES_MAX: usize = 1024;
/// Messages a partition takes from its mailbox before it looks at storage and timers again.
pub const MAILBOX_DRAIN_MAX: usize = 32;
/// Bytes a batch may decompress to where the broker looks into it (Produce, look-ups by time). Kafka has no bound; producers
/// bound a batch by what it is before it is compressed, far below.
pub const DECOMPRESSED_BATCH_MAX: usize = 64 << 20;
/// Worker threads that decompress at a time, each of them so much; fewer where there are fewer processors.
pub const INSPECTIONS_MAX: usize = 2;
/// Bytes of a compressed batch that its connection's task looks into itself: under a millisecond with every codec.
pub const COMPRESSED_AT_ONCE_MAX: usize = 64 << 10;
/// What may come out of it there.
pub const DECOMPRESSED_AT_ONCE_MAX: usize = 256 << 10;
/// Faulty records of one batch that are remembered, and of one Produce request that its answer names (about 200 bytes each).
pub const RECORD_ERRORS_MAX: usize = 4_000;
/// Bytes of all names and values of the configs one resource sets: they are part of one metadata entry. Kafka's lists of
/// throttled replicas, the longest of them, stay far below.
pub const CONFIGS_BYTES_MAX: usize = 64 << 10;
/// Characters of one of these values, as in Kafka, whose metadata records hold no more.
pub const CONFIG_VALUE_CHARACTERS_MAX: usize = i16::MAX as usize;
/// Resources one request may change configs of; thousands of topics at once are far below.
pub const ALTERED_RESOURCES_MAX: usize = 10_000;
/// Bytes of all configs one request changes, with the names of their resources: one metadata entry. Throttles of thousands
/// of replicas, the longest there are, stay below.
pub const ALTERED_BYTES_MAX: usize = 4 << 20;
/// The same for all configs that groups and client metrics subscriptions set, each with `CONFIG_BYTES` more: anybody may name
/// new ones, and they go only when their last config does.
pub const NAMED_CONFIGS_BYTES_MAX: usize = 16 << 20;
/// What a config takes in an image beside its names and its value.
pub const CONFIG_BYTES: usize = 128;
/// Bytes of a regular expression: each eight of them may stand for a large class of characters, a third of a millisecond.
pub const PATTERN_BYTES_MAX: usize = 1 << 10;
/// Memory of all fetch sessions; beyond it clients go on with full fetch requests.
pub const FETCH_SESSIONS_BYTES_MAX: usize = 64 << 20;
/// Memory of one partition in a fetch session, without its topic's name: its share of a hash map and of a B-tree.
pub const FETCH_SESSION_PARTITION_BYTES: usize = 250;
/// Memory of all Fetch answers that wait to be sent, file ranges not counted; the first batch of an answer is exempt.
pub const FETCH_MEMORY_BYTES_MAX: usize = 256 << 20;
/// Settings one DescribeConfigs may make the broker look at: 12,000 topics. Resources beyond it are refused one by one; an
/// answer of this size takes about 100 MB while it is made.
pub const DESCRIBED_SETTINGS_MAX: usize = 400_000;
/// Bytes of all error messages in one answer of the admin APIs: they name topics, and each may be asked for again and again.
pub const ERROR_MESSAGES_BYTES_MAX: usize = 8 << 20;
/// Bytes of what one OffsetFetch answers: the same partition, or group, may be named again and again.
pub const OFFSET_FETCH_BYTES_MAX: usize = 64 << 20;
/// Topics deleted last that a coordinator knows by id, so that commits on their way to them are refused (16 bytes each).
pub const DELETED_TOPICS_MAX: usize = 4096;
/// Bytes of a client's software name or version that a connection remembers.
pub const SOFTWARE_NAME_BYTES_MAX: usize = 256;
/// Bytes of recent batches the store on disk keeps in memory for readers that follow closely, all logs together.
pub const TAIL_BYTES_MAX: usize = 16 << 20;
/// Open files kept from connections: at most half of those the process may have. RocksDB, segment files and everything else
/// share them.
pub const FILES_KEPT_MAX: u64 = 64 << 10;

/// How the files this process may have open are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// Of all listeners together.
    pub connections: usize,
    /// Of the store.
    pub store: usize,
}

impl OpenFiles {
    /// By the soft limit as it stands now.
    pub fn of_process() -> OpenFiles {
        OpenFiles::share(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }

    fn share(limit: u64) -> OpenFiles {
        let kept = (limit / 2).min(FILES_KEPT_MAX);
        let connections = usize::try_from(limit - kept).unwrap_or(usize::MAX);
        // The runtime, listeners, peers and logs take some.
        OpenFiles { connections, store: (kept - kept / 4) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_to_the_store() {
        for (limit, connections, store) in
            [(256, 128, 96), (1024, 512, 384), (1 << 20, (1 << 20) - (64 << 10), 48 << 10)]
        {
            assert_eq!(OpenFiles::share(limit), OpenFiles { connections, store }, "{limit}");
        }
        assert!(OpenFiles::share(u64::MAX).connections > CONNECTIONS_MAX);
    }
}
