//! Reading and writing a history, line by line: of a file of any length one event is in memory.

use crate::history::Event;
use std::io::{self, BufRead, Read, Write};

/// Bytes of a line, its end included. A poll of 10,000 records is about 400 KB.
pub const LINE_BYTES_MAX: usize = 4 << 20;

/// Why a history could not be read or written. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("line {line}: {source}")]
    Io { line: u64, source: io::Error },
    #[error("line {line}: longer than {LINE_BYTES_MAX} bytes")]
    TooLong { line: u64 },
    #[error("line {line}: not an event: {source}")]
    NotAnEvent { line: u64, source: serde_json::Error },
    #[error("line {line}: its time {time} is before the time {last} of the line before it")]
    Unordered { line: u64, time: u64, last: u64 },
    #[error("line {line}: {what}")]
    Broken { line: u64, what: &'static str },
}

/// The events of a history, up to the first error.
pub struct Reader<R> {
    from: R,
    line: u64,
    last: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    pub fn new(from: R) -> Reader<R> {
        Reader { from, line: 0, last: 0, bytes: Vec::new() }
    }

    /// The number of the line read last; 0 before the first.
    pub fn line(&self) -> u64 {
        self.line
    }

    fn event(&mut self) -> Result<Option<Event>, HistoryError> {
        self.line += 1;
        let line = self.line;
        self.bytes.clear();
        let read = (&mut self.from).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|source| HistoryError::Io { line, source })?;
        if read == 0 {
            return Ok(None);
        }
        if read == LINE_BYTES_MAX && self.bytes.last() != Some(&b'\n') {
            return Err(HistoryError::TooLong { line });
        }
        let event: Event = serde_json::from_slice(&self.bytes)
            .map_err(|source| HistoryError::NotAnEvent { line, source })?;
        if event.time < self.last {
            return Err(HistoryError::Unordered { line, time: event.time, last: self.last });
        }
        self.last = event.time;
        Ok(Some(event))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.event().transpose()
    }
}

/// Writes events in the order in which they are given: take the time and call this under one lock.
pub struct Writer<W> {
    to: W,
    line: u64,
    last: u64,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub fn new(to: W) -> Writer<W> {
        Writer { to, line: 0, last: 0, bytes: Vec::new() }
    }

    /// # Errors
    /// What a reader would refuse is not written: [`HistoryError::Unordered`], [`HistoryError::TooLong`].
    pub fn write(&mut self, event: &Event) -> Result<(), HistoryError> {
        let line = self.line + 1;
        if event.time < self.last {
            return Err(HistoryError::Unordered { line, time: event.time, last: self.last });
        }
        self.bytes.clear();
        serde_json::to_writer(&mut self.bytes, event)
            .map_err(|source| HistoryError::NotAnEvent { line, source })?;
        self.bytes.push(b'\n');
        if self.bytes.len() > LINE_BYTES_MAX {
            return Err(HistoryError::TooLong { line });
        }
        self.to.write_all(&self.bytes).map_err(|source| HistoryError::Io { line, source })?;
        (self.line, self.last) = (line, event.time);
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), HistoryError> {
        self.to.flush().map_err(|source| HistoryError::Io { line: self.line, source })
    }

    /// What was written to; not flushed.
    pub fn into_inner(self) -> W {
        self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{
        Acks, Action, Committed, End, Isolation, Partition, Phase, Polled, Position, Record, Role,
    };

    fn event(time: u64, action: Action) -> Event {
        Event { time, process: 3, op: 17, phase: Phase::Ok, action }
    }

    #[test]
    fn every_action_survives_a_round_trip_and_reads_as_documented() {
        let p = || Partition::new("a-b", 2);
        let group = || "g".to_owned();
        let table = [
            (
                Action::Start(Role::Checker { seed: 7, target: "ottla".into() }),
                r#"{"start":{"checker":{"seed":7,"target":"ottla"}}}"#,
            ),
            (
                Action::Start(Role::Producer {
                    idempotent: true,
                    acks: Acks::None,
                    retries: false,
                }),
                r#"{"start":{"producer":{"idempotent":true,"acks":"0","retries":false}}}"#,
            ),
            (
                Action::Start(Role::Consumer { group: None, isolation: Isolation::ReadCommitted }),
                r#"{"start":{"consumer":{"isolation":"read_committed"}}}"#,
            ),
            (Action::Start(Role::Final), r#"{"start":"final"}"#),
            (Action::Crash, r#""crash""#),
            (
                Action::Send { to: p(), key: 1, value: 9, offset: Some(4) },
                r#"{"send":{"to":"a-b-2","key":1,"value":9,"offset":4}}"#,
            ),
            (
                Action::Send { to: p(), key: 1, value: 9, offset: None },
                r#"{"send":{"to":"a-b-2","key":1,"value":9}}"#,
            ),
            (Action::Poll { records: vec![] }, r#"{"poll":{}}"#),
            (
                Action::Poll {
                    records: vec![Polled {
                        from: p(),
                        records: vec![Record { offset: 4, key: 1, value: 9 }],
                    }],
                },
                r#"{"poll":{"records":[{"from":"a-b-2","records":[[4,1,9]]}]}}"#,
            ),
            (
                Action::Assign { from: vec![Position(p(), 0)] },
                r#"{"assign":{"from":[["a-b-2",0]]}}"#,
            ),
            (
                Action::Subscribe { topics: vec!["a-b".into()] },
                r#"{"subscribe":{"topics":["a-b"]}}"#,
            ),
            (
                Action::Rebalance { assigned: vec![p()], revoked: vec![] },
                r#"{"rebalance":{"assigned":["a-b-2"],"revoked":[]}}"#,
            ),
            (Action::Seek { to: Position(p(), 5) }, r#"{"seek":{"to":["a-b-2",5]}}"#),
            (
                Action::Commit { group: group(), offsets: vec![Position(p(), 5)] },
                r#"{"commit":{"group":"g","offsets":[["a-b-2",5]]}}"#,
            ),
            (
                Action::Committed { group: group(), offsets: vec![Committed(p(), None)] },
                r#"{"committed":{"group":"g","offsets":[["a-b-2",null]]}}"#,
            ),
            (
                Action::Fault { name: "kill".into(), detail: String::new() },
                r#"{"fault":{"name":"kill"}}"#,
            ),
            (Action::Ends { ends: vec![End(p(), 0, 8)] }, r#"{"ends":{"ends":[["a-b-2",0,8]]}}"#),
        ];
        for (action, json) in table {
            let event = event(5, action);
            let mut file = Vec::new();
            Writer::new(&mut file).write(&event).unwrap();
            let text = String::from_utf8(file.clone()).unwrap();
            assert_eq!(
                text,
                format!("{{\"t\":5,\"p\":3,\"op\":17,\"is\":\"ok\",\"do\":{json}}}\n")
            );
            let read: Vec<Event> = Reader::new(&file[..]).map(Result::unwrap).collect();
            assert_eq!(read, [event]);
        }
    }

    #[test]
    fn what_is_no_history_is_refused_with_its_line() {
        let good = r#"{"t":5,"p":3,"op":17,"is":"ok","do":"crash"}"#;
        let table = [
            ("rubbish".to_owned(), "line 2: not an event: expected value at line 1 column 1"),
            (good.replace("crash", "dance"), "line 2: not an event: unknown variant `dance`"),
            (
                good.replace("\"p\":3", "\"p\":3,\"txn\":1"),
                "line 2: not an event: unknown field `txn`",
            ),
            (
                good.replace(r#""crash""#, r#"{"send":{"to":"a-x","key":1,"value":1}}"#),
                "line 2: not an event: \"a-x\" is not topic-index",
            ),
            (good.replace(r#""t":5"#, r#""t":4"#), "line 2: its time 4 is before the time 5"),
            (" ".repeat(LINE_BYTES_MAX) + good, "line 2: longer than 4194304 bytes"),
            (String::new(), "line 2: not an event: EOF"),
            (good[..20].to_owned(), "line 2: not an event: EOF"),
        ];
        for (bad, expected) in table {
            let file = format!("{good}\n{bad}\n");
            let mut reader = Reader::new(file.as_bytes());
            assert!(reader.next().unwrap().is_ok());
            let error = reader.next().unwrap().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_writer_refuses_what_a_reader_would() {
        let mut writer = Writer::new(Vec::new());
        writer.write(&event(5, Action::Crash)).unwrap();
        assert!(matches!(
            writer.write(&event(4, Action::Crash)),
            Err(HistoryError::Unordered { line: 2, .. })
        ));
        let long = Action::Fault { name: "kill".into(), detail: "x".repeat(LINE_BYTES_MAX) };
        assert!(matches!(writer.write(&event(5, long)), Err(HistoryError::TooLong { line: 2 })));
        assert_eq!(Reader::new(&writer.to[..]).count(), 1);
    }
}
