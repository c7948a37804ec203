//! What is no history: the recorder is wrong, and says nothing about a broker.

use crate::script::{events, try_judged};
use judge::{
    history::{Action, Event, Partition, Phase, Position},
    judge::{Broken, Judge},
};

#[test]
fn broken_histories_are_refused() {
    let table = [
        ("1 is plain\n1 is plain", "a process begins twice"),
        ("1 send 1 @0", "a process did not begin"),
        ("1 is consumer\n1 crash\n1 poll", "an operation of a crashed process"),
        ("1 is consumer\n1 send 1 @0", "a send of a process that is no producer"),
        ("1 is plain\n1 poll", "a poll of a process that is no consumer"),
        ("1 is consumer\n1 rebalance +a", "a rebalance of a process that is in no group"),
        (
            "1 is plain\n1 send 2 @0\n1 send 1 @1",
            "a process' values for a partition do not increase from 1",
        ),
        ("1 is plain\n1 send 0 @0", "a process' values for a partition do not increase from 1"),
        ("1 is plain\n2 is plain\n1 send 1 @0\n2 send 1 @1", "a value is sent twice"),
        ("1 is plain\n1 send 1 @-1", "a negative offset"),
        ("1 is consumer\n1 poll -1:1", "a negative offset"),
    ];
    for (script, expected) in table {
        assert_eq!(try_judged(script).unwrap_err(), Broken(expected), "{script}");
    }
    assert!(try_judged("1 is plain\n1 send 1 open\n1 crash\n1 sent 1 unknown").is_ok());
}

#[test]
fn operations_that_do_not_fit_their_invocations_are_refused() {
    let good = events("1 is plain\n2 is plain\n1 send 1 open\n1 sent 1 @0");
    let refused = |change: fn(&mut Vec<Event>)| {
        let mut events = good.clone();
        change(&mut events);
        let mut judge = Judge::new();
        events.iter().find_map(|event| judge.event(event).err()).map(|Broken(what)| what)
    };
    let other = |event: &mut Event| {
        if let Action::Send { value, .. } = &mut event.action {
            *value += 1;
        }
    };
    assert_eq!(refused(|_| ()), None);
    let not_invoked = Some("a completion of what was not invoked");
    assert_eq!(refused(|events| drop(events.remove(3))), not_invoked);
    assert_eq!(refused(|events| events[4].process = 2), not_invoked);
    assert_eq!(refused(|events| events[4].action = Action::Poll { records: vec![] }), not_invoked);
    assert_eq!(
        refused(|events| events.insert(3, events[3].clone())),
        Some("an operation is invoked twice")
    );
    assert_eq!(
        refused(|events| events[1].phase = Phase::Invoke),
        Some("what merely happens is ok")
    );
    let mut events = good.clone();
    other(&mut events[4]);
    let mut judge = Judge::new();
    let error = events.iter().find_map(|event| judge.event(event).err());
    assert_eq!(error, Some(Broken("a send completes with another value or partition")));
    let mut of_process_1 = good[3].clone();
    of_process_1.action = Action::Fault { name: "kill".into(), detail: String::new() };
    let mut judge = Judge::new();
    good[..3].iter().for_each(|event| judge.event(event).unwrap());
    assert_eq!(judge.event(&of_process_1), Err(Broken("a fault that is not of process 0")));
    let seek = Action::Seek { to: Position(Partition::new("a", 0), 0) };
    assert!(judge.event(&Event { phase: Phase::Ok, action: seek, ..of_process_1 }).is_ok());
}
