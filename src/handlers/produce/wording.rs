//! What a producer is told, in words, of records that were refused. Clients show these texts, some only the first.

use crate::{
    partition::{AppendError, Fault, RecordError},
    wire::{ErrorCode, StrBytes, messages::produce_response::BatchIndexAndErrorMessage},
};

/// Records whose fault the text about the whole batch repeats.
const REPEATED_MAX: usize = 3;

/// Every faulty record with its place in the batch.
pub(super) fn records(
    topic: &str,
    partition: i32,
    errors: &[RecordError],
) -> Vec<BatchIndexAndErrorMessage> {
    let message = |error: &RecordError| {
        let text = StrBytes::from_string(record(topic, partition, error));
        BatchIndexAndErrorMessage::default()
            .with_batch_index(error.batch_index)
            .with_batch_index_error_message(Some(text))
    };
    errors.iter().map(message).collect()
}

/// The batch as a whole; nothing when no record of it was at fault, as in Kafka.
pub(super) fn batch(topic: &str, partition: i32, error: &AppendError) -> Option<StrBytes> {
    let count = error.record_errors.len();
    if count == 0 {
        return None;
    }
    if error.code == ErrorCode::InvalidTimestamp {
        let text = "One or more records have been rejected due to invalid timestamp";
        return Some(StrBytes::from_static_str(text));
    }
    let repeated: Vec<String> = error.record_errors[..count.min(REPEATED_MAX)]
        .iter()
        .map(|error| format!("{}: {}", error.batch_index, record(topic, partition, error)))
        .collect();
    let text = format!("{count} records have been rejected; the first by index: {repeated:?}");
    Some(StrBytes::from_string(text))
}

fn record(topic: &str, partition: i32, error: &RecordError) -> String {
    match error.fault {
        Fault::Key => format!(
            "Compacted topic cannot accept message without key in topic partition \
             {topic}-{partition}"
        ),
        Fault::Timestamp { timestamp, from, to } => format!(
            "Timestamp {timestamp} of the record at offset {} is out of range; the topic takes \
             {from} to {to} now",
            error.offset_delta
        ),
        Fault::AppendTime => format!(
            "The record at offset {} has the timestamp type LogAppendTime, which producers must \
             not set",
            error.offset_delta
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Fault = Fault::Timestamp { timestamp: 90, from: 10, to: 20 };

    fn error(code: ErrorCode, faults: &[Fault]) -> AppendError {
        let record_errors = faults.iter().zip(3..).map(|(fault, batch_index)| RecordError {
            batch_index,
            offset_delta: batch_index,
            fault: *fault,
        });
        AppendError { record_errors: record_errors.collect(), ..AppendError::of(code) }
    }

    #[test]
    fn a_record_is_told_its_fault() {
        let errors = error(ErrorCode::InvalidTimestamp, &[Fault::Key, LATE, Fault::AppendTime])
            .record_errors;
        let told: Vec<(i32, String)> = records("t", 7, &errors)
            .into_iter()
            .map(|it| (it.batch_index, it.batch_index_error_message.unwrap().to_string()))
            .collect();
        assert_eq!(told.iter().map(|it| it.0).collect::<Vec<_>>(), [3, 4, 5]);
        assert!(told[0].1.ends_with(" without key in topic partition t-7"), "{told:?}");
        for fact in ["90", "offset 4", "10 to 20"] {
            assert!(told[1].1.contains(fact), "{fact}: {told:?}");
        }
        assert!(told[2].1.contains("offset 5") && told[2].1.contains("LogAppendTime"), "{told:?}");
    }

    #[test]
    fn a_batch_is_told_of_three_records_and_of_times_that_they_are_wrong() {
        assert_eq!(batch("t", 0, &AppendError::of(ErrorCode::InvalidRecord)), None);
        let late = batch("t", 0, &error(ErrorCode::InvalidTimestamp, &[Fault::Key, LATE])).unwrap();
        assert!(late.ends_with("due to invalid timestamp"), "{late}");
        let keys = batch("t", 0, &error(ErrorCode::InvalidRecord, &[Fault::Key; 5])).unwrap();
        assert!(keys.starts_with("5 records"), "{keys}");
        assert_eq!(keys.matches("without key").count(), 3, "{keys}");
    }
}
