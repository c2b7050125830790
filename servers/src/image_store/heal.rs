//! An image that the disk has lost, or holds damaged, comes anew from the depot.
//!
//! Guarantees: a fetch finds an image that is in the depot as long as one of the two places has it whole; a file is
//! replaced only by one that was verified as it came, and only while the image is offered.

use super::disk::Checked;
use super::recover::{Way, Why};
use super::{NAME, Server};
use crate::shell::say;
use ftmpi_protocols::image_catalogue::{CheckError, ImageName};
use tokio::task::block_in_place;

/// What [`super::disk::Disk::check`] says after the depot has helped; `found` is what it said before.
///
/// # Errors
/// It cannot: then `found`.
pub(super) async fn heal(
    server: &Server,
    name: ImageName,
    found: CheckError,
) -> Result<Checked, CheckError> {
    let Some(flusher) = &server.flusher else { return Err(found) };
    let chain = server.disk.chain(name);
    if !flusher.has_all(&chain) || !server.is_offered(name) {
        return Err(found);
    }
    let _turn = flusher.healing.lock().await;
    let mut taken = 0;
    for container in chain {
        if block_in_place(|| server.disk.is_sound(container)) {
            continue;
        }
        match take(server, name, container).await {
            Ok(()) => taken += 1,
            Err(why) => {
                say(
                    NAME,
                    format!("{}, and the object store cannot help: {why}", about(name, &found)),
                );
                return Err(found);
            }
        }
    }
    // Nothing was taken: somebody else was healing the same.
    let checked = block_in_place(|| server.disk.check(name))?;
    if taken > 0 {
        let depot = flusher.depot.address();
        say(NAME, format!("{}: it came anew from {depot}", about(name, &found)));
    }
    Ok(checked)
}

fn about(name: ImageName, found: &CheckError) -> String {
    let why = match found {
        CheckError::Gone => "its file was removed",
        CheckError::Damaged(why) => why,
    };
    format!("image {} of rank {} cannot be read ({why})", name.image, name.rank)
}

/// Takes one container on which `image` rests, or its own.
async fn take(server: &Server, image: ImageName, container: ImageName) -> Result<(), String> {
    let Some(flusher) = &server.flusher else { return Err("there is none".into()) };
    let way = Way { depot: &flusher.depot, dir: server.disk.path(), files: server.disk.files() };
    let text = |why| match why {
        Why::Image(why) | Why::Trouble(why) => why,
    };
    let (part, ..) = way.download(container).await.map_err(text)?;
    let publish = || {
        // While nobody can take it from the shelf.
        let catalogue = server.catalogue.lock().expect("no panic while it is locked");
        if !catalogue.offers(image) {
            let _ = way.files.remove(&part);
            return Err("newer ones have taken its place".to_owned());
        }
        let target = server.disk.place(container, catalogue.offers(container));
        way.publish(&part, &target).map_err(text)
    };
    block_in_place(publish)
}
