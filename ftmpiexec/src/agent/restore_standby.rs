//! Images of standbys: read ahead of time, and settled on when the standby takes its rank's place.
//!
//! Guarantee: an incarnation that begins in a standby is declared as any other one, so no image of
//! the incarnation before is stored any more.

use super::super::errors::RestoreError;
use super::super::events::AgentEvent;
use super::super::files::Files;
use super::super::gate::Gate;
use super::super::image_results::{Restore, Stream};
use super::{Problem, Source, Wanted, reach, settle_on, stream, turn};
use crate::agent_protocol::Start;
use crate::tuning::{SERVER_PATIENCE, SERVER_RETRY};
use ftmpi_servers::client::ImageStore;
use ftmpi_wire::ImageNo;
use std::time::Instant;
use tokio::sync::mpsc;

/// Begins to stream the newest image of a rank into its standby. The end of it waits at the gate.
///
/// # Errors
/// Why there is no standby; one line.
pub async fn fetch(start: &Start, source: &Source, mut gate: Gate) -> Result<Stream, String> {
    let newest = start.images.first().map(|facts| facts.image).ok_or("it has no image")?;
    gate.hold(turn(source).await);
    let server = reach(start.rank, source).await.map_err(|e| e.to_string())?;
    let (same_host, candidates, gate) = (!source.checked, &start.images, Some(gate));
    let wanted = Wanted { newest, same_host, candidates, gate };
    match stream(server, source.secret.clone(), start.rank, (wanted, &mut None)).await {
        Ok(Some((stream, _))) if stream.facts.image == newest => Ok(stream),
        Ok(_) => Err(format!("image {newest} is not stored any more")),
        Err(Problem::SameHost) => Err("the file of its image could not be used".to_owned()),
        Err(Problem::Passing(why)) => Err(why),
        Err(Problem::Final(e)) => Err(e.to_string()),
    }
}

/// An incarnation is to begin in its standby, which has read the image: declares the incarnation
/// and settles on the image, as for any other one.
pub async fn begin(
    start: Start,
    source: Source,
    files: Files,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let image = start.images.first().map_or(ImageNo(0), |facts| facts.image);
    let outcome = match declare(&start, &source).await {
        Ok(server) => settle_on(image, &start, &source, (files, Some(server))).await,
        Err(e) => Err(e),
    };
    let outcome = outcome.map(|()| None);
    let restore = Restore { start, unusable: Vec::new(), outcome };
    let _ = events.send(AgentEvent::StandbyMayGo(Box::new(restore)));
}

/// Declares an incarnation: from then on no image of the one before is stored.
async fn declare(start: &Start, source: &Source) -> Result<ImageStore, RestoreError> {
    let since = Instant::now();
    loop {
        let mut server = reach(start.rank, source).await?;
        match server.declare(start.rank, start.incarnation).await {
            Ok(()) => return Ok(server),
            Err(e) if since.elapsed() > SERVER_PATIENCE => {
                return Err(RestoreError::Unreachable(e.to_string()));
            }
            Err(_) => tokio::time::sleep(SERVER_RETRY).await,
        }
    }
}
