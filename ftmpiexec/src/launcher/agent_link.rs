//! The tasks that serve the connection to one agent.

use super::events::LauncherEvent;
use super::notices;
use crate::agent_protocol::{FromAgent, ToAgent};
use ftmpi_transport::framed::{FrameError, FrameReader, FrameWriter};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

/// Turns the agent's messages into events, to the end of the connection.
pub async fn read_agent<R: AsyncRead + Unpin>(
    mut reader: FrameReader<R, FromAgent>,
    host: u32,
    launch: u64,
    events: mpsc::UnboundedSender<LauncherEvent>,
) {
    let why = loop {
        match reader.recv().await {
            Ok(Some(message)) => {
                let message = Box::new(message);
                if events.send(LauncherEvent::Agent { host, launch, message }).is_err() {
                    return;
                }
            }
            Ok(None) => break notices::agent_closed(),
            Err(e) => break notices::agent_broke(&e),
        }
    };
    let _ = events.send(LauncherEvent::AgentGone { host, launch, why });
}

/// Sends the queued messages. A message that is too long for a frame is reported and left out.
pub async fn write_agent<W: AsyncWrite + Unpin>(
    mut writer: FrameWriter<W, ToAgent>,
    mut outbox: mpsc::UnboundedReceiver<ToAgent>,
    (host, launch): (u32, u64),
    events: mpsc::UnboundedSender<LauncherEvent>,
) {
    while let Some(message) = outbox.recv().await {
        if let Err(e) = writer.feed(&message).await {
            if !matches!(e, FrameError::TooLong { .. }) {
                // The reader notices that the connection is gone.
                return;
            }
            // Another agent would not get the message either. The connection stays: the agent must
            // learn of the end of the job.
            let why = e.to_string();
            let _ = events.send(LauncherEvent::AgentUnsendable { host, launch, why });
        }
        if outbox.is_empty() && writer.flush().await.is_err() {
            return;
        }
    }
    // An agent that was given up may only be stopped. It learns of its loss from the closed
    // connection, and ends its ranks.
    let _ = writer.close().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_that_is_too_long_is_reported_and_the_next_one_is_sent() {
        let (here, there) = tokio::io::duplex(1 << 16);
        let (outbox, queue) = mpsc::unbounded_channel();
        let (events, mut inbox) = mpsc::unbounded_channel();
        outbox.send(ToAgent::ForgetFiles(vec!["x".repeat(2000)])).unwrap();
        outbox.send(ToAgent::HeartbeatReceived { number: 1 }).unwrap();
        drop(outbox);
        let writer = FrameWriter::new(here, 1000);
        write_agent(writer, queue, (3, 7), events).await;
        let Some(LauncherEvent::AgentUnsendable { host: 3, launch: 7, why }) = inbox.recv().await
        else {
            panic!("no event reports it")
        };
        assert!(why.contains("longer than a frame"), "{why}");
        let mut reader = FrameReader::<_, ToAgent>::new(there, 1000);
        let next = reader.recv().await.unwrap();
        assert_eq!(next, Some(ToAgent::HeartbeatReceived { number: 1 }));
    }
}
