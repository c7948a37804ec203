//! The faults of a plan, carried out one after the other while the load runs: one track for the node, one for the wire.
//!
//! Each is an operation of process 0 in the history, complete when it is healed.

use crate::{
    node::Node,
    plan::{Fault, Step},
    proxy::Proxy,
    recorder::{Process, Recorder},
};
use anyhow::{Context, Result};
use judge::history::{Action, Phase};
use std::time::Duration;
use tokio::time::sleep;

/// The faults of the node, one after the other, until the load is over. A broker that fails by itself is complained
/// about and started again; one that does not start ends the run.
pub async fn node_track(
    node: &mut Option<Node>,
    steps: &[Step],
    recorder: &Recorder,
    checker: &Process,
    lasting: Duration,
) -> Result<()> {
    let Some(node) = node else {
        sleep(lasting).await;
        return Ok(());
    };
    let begun = recorder.elapsed();
    let mut not_before = begun;
    for Step { at, fault } in steps {
        sleep(not_before.max(begun + *at).saturating_sub(recorder.elapsed())).await;
        if recorder.elapsed() >= begun + lasting {
            break;
        }
        if let Some(failure) = node.failure().await? {
            recorder.complain(failure);
            node.heal().await?;
        }
        let op = checker.invoke(described(fault));
        node.carry_out(fault).await.with_context(|| fault.to_string())?;
        checker.complete(op, Phase::Ok, described(fault));
        not_before = recorder.elapsed() + node.calm();
    }
    sleep((begun + lasting).saturating_sub(recorder.elapsed())).await;
    Ok(())
}

pub async fn wire_track(
    proxy: &Option<Proxy>,
    steps: &[Step],
    recorder: &Recorder,
    checker: &Process,
    lasting: Duration,
) {
    let (Some(proxy), begun) = (proxy, recorder.elapsed()) else { return };
    for Step { at, fault } in steps {
        sleep((begun + *at).saturating_sub(recorder.elapsed())).await;
        if recorder.elapsed() >= begun + lasting {
            return;
        }
        let op = checker.invoke(described(fault));
        match fault {
            Fault::Cut { how, whose } => proxy.cut(*how, *whose),
            Fault::Stall { way, lasting } => {
                proxy.stall(*way);
                sleep(Duration::from_millis(*lasting)).await;
                proxy.flow();
            }
            _ => {}
        }
        checker.complete(op, Phase::Ok, described(fault));
    }
}

fn described(fault: &Fault) -> Action {
    Action::Fault { name: fault.name().into(), detail: fault.to_string() }
}
