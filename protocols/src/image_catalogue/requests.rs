//! What the catalogue answers, and what it does when storage answers.

use super::{Ask, CheckError, ConnId, ImageCatalogue, ImageName, Output, Phase, Record, Shelf};
use ftmpi_wire::image_store::{Answer, Counts, Stored};
use ftmpi_wire::{ImageNo, Incarnation, Rank};

impl ImageCatalogue {
    pub(super) fn request(&mut self, conn: ConnId, ask: Ask, out: &mut Vec<Output>) {
        match (self.phases.remove(&conn), ask) {
            (None, Ask::Declare { rank, incarnation }) => {
                self.declare(conn, rank, incarnation, out)
            }
            (None, Ask::Keep { rank, incarnation, images }) => {
                self.keep(rank, incarnation, images, out)
            }
            (None, Ask::Return { rank, incarnation, image }) => {
                self.return_to(conn, (rank, incarnation), image, out);
            }
            (None, Ask::Put { rank, incarnation, image }) => {
                self.put(conn, ImageName { rank, image, incarnation }, out);
            }
            (None, Ask::List { rank }) => {
                let shelf = self.shelf(rank).describe();
                out.push(Output::Answer(Answer::RankImages(shelf)));
            }
            (None, Ask::Get { rank, at_most }) => self.get(conn, rank, at_most, out),
            // Sending is over when the next request comes.
            (Some(Phase::Sending { .. }), ask) => self.request(conn, ask, out),
            (None, Ask::Condemn { rank, image }) => {
                self.set_aside(rank, image, "it could not be restored", out);
                out.push(Output::Answer(Answer::Done));
            }
            (Some(Phase::Receiving { name, bytes }), Ask::Data { bytes: more }) => {
                self.data(conn, name, bytes, more, out);
            }
            (Some(Phase::Receiving { name, bytes }), Ask::Commit) => {
                if let Some(why) = self.shelf(name.rank).objection(name) {
                    out.push(Output::Discard);
                    out.push(Output::Answer(Answer::Refused(why)));
                } else {
                    self.phases.insert(conn, Phase::Verifying { name, bytes });
                    out.push(Output::Verify(name));
                }
            }
            (Some(Phase::Receiving { .. }), Ask::Abandon) => {
                out.push(Output::Discard);
                out.push(Output::Answer(Answer::Done));
            }
            (Some(Phase::Swallowing), Ask::Data { .. }) => {
                self.phases.insert(conn, Phase::Swallowing);
            }
            (Some(Phase::Swallowing), Ask::Commit | Ask::Abandon) => {}
            (phase, ask) => {
                if phase.is_some_and(|phase| phase.has_temporary()) {
                    out.push(Output::Discard);
                }
                out.push(Output::Close(format!("a request out of turn: {ask:?}")));
            }
        }
    }

    pub(super) fn shelf(&mut self, rank: Rank) -> &mut Shelf {
        let (depot, waves_cut_logs) = (self.depot, self.waves_cut_logs);
        self.shelves.entry(rank).or_insert_with(|| Shelf::new(depot, waves_cut_logs))
    }

    fn declare(
        &mut self,
        conn: ConnId,
        rank: Rank,
        incarnation: Incarnation,
        out: &mut Vec<Output>,
    ) {
        let shelf = self.shelf(rank);
        if let Some(why) = shelf.is_over(rank, incarnation) {
            out.push(Output::Answer(Answer::Refused(why)));
        } else if incarnation == shelf.durable {
            out.push(Output::Answer(Answer::Done));
        } else {
            // From here on, whatever storage says: later checks see it.
            shelf.incarnation = incarnation;
            let record = shelf.record();
            self.phases.insert(conn, Phase::Declaring { rank, incarnation });
            out.push(Output::Persist { rank, record });
            self.mirror(rank, out);
        }
    }

    fn keep(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        images: [ImageNo; 2],
        out: &mut Vec<Output>,
    ) {
        let shelf = self.shelf(rank);
        if let Some(why) = shelf.is_over(rank, incarnation) {
            return out.push(Output::Answer(Answer::Refused(why)));
        }
        shelf.keep = Some(images);
        // The next image may rest on them, so that they go only if there is no room for it.
        shelf.void = shelf.images.keys().copied().filter(|image| !images.contains(image)).collect();
        out.push(Output::Answer(Answer::Done));
    }

    /// There is no room: images of waves that came to nothing go, for the next wave needs what they take.
    fn make_room(&mut self, out: &mut Vec<Output>) {
        for (rank, shelf) in &mut self.shelves {
            out.extend(shelf.take_void(*rank).into_iter().map(Output::Remove));
        }
    }

    fn return_to(
        &mut self,
        conn: ConnId,
        (rank, incarnation): (Rank, Incarnation),
        image: ImageNo,
        out: &mut Vec<Output>,
    ) {
        let shelf = self.shelf(rank);
        if let Some(why) = shelf.is_over(rank, incarnation) {
            return out.push(Output::Answer(Answer::Refused(why)));
        }
        let images: Vec<Stored> = shelf.images.range(image.next()..).map(|(_, s)| *s).collect();
        let taken = images.iter().filter_map(|stored| shelf.take(rank, stored.image));
        let names: Vec<ImageName> = taken.collect();
        if names.is_empty() {
            shelf.highest = shelf.highest.min(image);
            return out.push(Output::Answer(Answer::Done));
        }
        self.phases.insert(conn, Phase::Returning { rank, images });
        out.push(Output::GiveUp(names));
    }

    pub(super) fn returned(
        &mut self,
        conn: ConnId,
        outcome: Result<(), String>,
        out: &mut Vec<Output>,
    ) {
        let Some(Phase::Returning { rank, images }) = self.phases.remove(&conn) else { return };
        let shelf = self.shelf(rank);
        let answer = match outcome {
            Ok(()) => {
                // Whoever continues the job must not take them for lost.
                let before = images[0].image.0 - 1;
                shelf.highest = ImageNo(before);
                Answer::Done
            }
            Err(why) => {
                // They may be found again.
                shelf.images.extend(images.into_iter().map(|stored| (stored.image, stored)));
                Answer::Refused(format!(
                    "images of rank {rank} that were given up cannot be removed: {why}"
                ))
            }
        };
        out.push(Output::Answer(answer));
    }

    fn put(&mut self, conn: ConnId, name: ImageName, out: &mut Vec<Output>) {
        let busy = self.phases.values().any(|phase| match phase {
            Phase::Receiving { name: other, .. }
            | Phase::Verifying { name: other, .. }
            | Phase::Publishing { name: other, .. } => *other == name,
            _ => false,
        });
        let shelf = self.shelf(name.rank);
        let objection = if name.image == ImageNo(0) {
            Some("images are numbered from 1".to_owned())
        } else if busy {
            Some(format!("image {} of rank {} is already on its way", name.image, name.rank))
        } else {
            shelf.objection(name)
        };
        if let Some(why) = objection {
            return self.refuse_early(conn, why, out);
        }
        // A life that we were not told of: the declaration was lost with an earlier server.
        shelf.incarnation = shelf.incarnation.max(name.incarnation);
        self.phases.insert(conn, Phase::Receiving { name, bytes: 0 });
        out.push(Output::Create(name));
    }

    fn refuse_early(&mut self, conn: ConnId, why: String, out: &mut Vec<Output>) {
        self.phases.insert(conn, Phase::Swallowing);
        out.push(Output::Answer(Answer::Refused(why)));
    }

    fn data(
        &mut self,
        conn: ConnId,
        name: ImageName,
        bytes: u64,
        more: u64,
        out: &mut Vec<Output>,
    ) {
        // What came so far does not count while its phase is taken out.
        let total = |catalogue: &Self| catalogue.bytes().saturating_add(bytes).saturating_add(more);
        if total(self) > self.bytes_max {
            self.make_room(out);
        }
        let objection = if total(self) > self.bytes_max {
            Some(format!(
                "the checkpoint server may store {} bytes, and image {} of rank {} does not fit: \
                 raise its limit (three images of each rank must fit); older images stand",
                self.bytes_max, name.image, name.rank
            ))
        } else {
            self.shelf(name.rank).objection(name)
        };
        if let Some(why) = objection {
            out.push(Output::Discard);
            return self.refuse_early(conn, why, out);
        }
        self.phases.insert(conn, Phase::Receiving { name, bytes: bytes.saturating_add(more) });
        out.push(Output::Write);
    }

    pub(super) fn write_failed(&mut self, conn: ConnId, why: String, out: &mut Vec<Output>) {
        let Some(Phase::Receiving { name, .. }) = self.phases.get(&conn) else { return };
        let why = format!(
            "image {} of rank {} cannot be stored: {why}; older images stand",
            name.image, name.rank
        );
        out.push(Output::Discard);
        self.make_room(out);
        self.refuse_early(conn, why, out);
    }

    pub(super) fn verified(
        &mut self,
        conn: ConnId,
        outcome: Result<Counts, String>,
        out: &mut Vec<Output>,
    ) {
        let Some(Phase::Verifying { name, bytes }) = self.phases.remove(&conn) else { return };
        // Its life may have ended while it was verified.
        let accepted = match outcome {
            Ok(counts) => self.shelf(name.rank).objection(name).map_or(Ok(counts), Err),
            Err(why) => Err(format!(
                "image {} of rank {} is not taken: {why}; older images stand",
                name.image, name.rank
            )),
        };
        match accepted {
            Err(why) => {
                out.push(Output::Discard);
                out.push(Output::Answer(Answer::Refused(why)));
            }
            Ok(counts) => {
                self.phases.insert(conn, Phase::Publishing { name, bytes, counts });
                out.push(Output::Publish(name));
            }
        }
    }

    pub(super) fn published(
        &mut self,
        conn: ConnId,
        outcome: Result<(), String>,
        out: &mut Vec<Output>,
    ) {
        let Some(Phase::Publishing { name, bytes, counts }) = self.phases.remove(&conn) else {
            return;
        };
        if let Err(why) = outcome {
            out.push(Output::Discard);
            out.push(Output::Answer(Answer::Refused(format!(
                "image {} of rank {} cannot be given its name: {why}; older images stand",
                name.image, name.rank
            ))));
            return;
        }
        let waves_cut_logs = self.waves_cut_logs;
        let shelf = self.shelf(name.rank);
        let stored = Stored { image: name.image, incarnation: name.incarnation, bytes, counts };
        shelf.images.insert(name.image, stored);
        shelf.highest = name.image;
        shelf.is_stored(name.incarnation);
        if shelf.start_is_spare(waves_cut_logs) {
            let record = Record { start_offered: false, ..shelf.record() };
            self.phases.insert(conn, Phase::Closing { name, bytes });
            out.push(Output::Persist { rank: name.rank, record });
        } else {
            self.committed(conn, name, bytes, out);
        }
    }

    pub(super) fn persisted(
        &mut self,
        conn: ConnId,
        outcome: Result<(), String>,
        out: &mut Vec<Output>,
    ) {
        match self.phases.remove(&conn) {
            Some(Phase::Declaring { rank, incarnation }) => {
                match outcome {
                    Ok(()) => self.shelf(rank).is_stored(incarnation),
                    // It holds as long as this process lives, and an image of the new life or the
                    // next declaration makes it durable.
                    Err(why) => out.push(Output::Say(format!(
                        "the declaration of life {incarnation} of rank {rank} cannot be stored: \
                         {why}"
                    ))),
                }
                out.push(Output::Answer(Answer::Done));
            }
            Some(Phase::Closing { name, bytes }) => {
                // If it could not be stored, the start simply remains offered.
                match outcome {
                    Ok(()) => self.shelf(name.rank).start_offered = false,
                    Err(why) => out.push(Output::Say(format!(
                        "logs of rank {} are not cut yet: its record cannot be stored: {why}",
                        name.rank
                    ))),
                }
                self.committed(conn, name, bytes, out);
            }
            Some(Phase::GivingUp { rank, record }) => self.gave_up(rank, record, outcome, out),
            _ => {}
        }
    }

    fn committed(&mut self, conn: ConnId, name: ImageName, bytes: u64, out: &mut Vec<Output>) {
        let shelf = self.shelf(name.rank);
        if let Some(level) = &mut shelf.level {
            level.came(name.image);
        }
        let waits = shelf.level.is_some() && shelf.keep.is_some();
        let surplus = shelf.take_surplus(name.rank);
        let oldest = shelf.oldest();
        out.extend(surplus.into_iter().map(Output::Remove));
        self.flush_next(name.rank, out);
        if waits {
            self.phases.insert(conn, Phase::Flushing { name, bytes });
            self.depot_news(conn, out);
        } else {
            out.push(Output::Answer(Answer::Committed { image: name.image, bytes, oldest }));
        }
    }

    fn get(&mut self, conn: ConnId, rank: Rank, at_most: ImageNo, out: &mut Vec<Output>) {
        let shelf = self.shelf(rank);
        if let Some(stored) = shelf.newest(at_most) {
            out.push(Output::Check(name_of(rank, stored)));
            self.phases.insert(conn, Phase::Checking { rank, at_most, stored });
        } else if shelf.start_offered {
            out.push(Output::Answer(Answer::NoImage));
        } else {
            let why = if shelf.set_aside > 0 {
                format!(
                    "no image of rank {rank} is good any more ({} were damaged), and the messages \
                     before them are gone: the rank cannot be restarted",
                    shelf.set_aside
                )
            } else {
                format!("no image of rank {rank} up to number {at_most} is offered any more")
            };
            out.push(Output::Answer(Answer::Refused(why)));
        }
    }

    pub(super) fn checked(
        &mut self,
        conn: ConnId,
        outcome: Result<(), CheckError>,
        out: &mut Vec<Output>,
    ) {
        let Some(Phase::Checking { rank, at_most, stored }) = self.phases.remove(&conn) else {
            return;
        };
        let still_offered = self.shelf(rank).images.get(&stored.image) == Some(&stored);
        match outcome {
            Ok(()) if still_offered => {
                self.phases.insert(conn, Phase::Sending { rank, image: stored.image });
                return out.push(Output::Send(name_of(rank, stored), stored));
            }
            Err(CheckError::Damaged(why)) if still_offered => {
                self.set_aside(rank, stored.image, &why, out);
            }
            Err(CheckError::Gone) if still_offered => {
                self.set_aside(rank, stored.image, "its file was removed", out);
            }
            // A newer one took its place meanwhile.
            _ => {}
        }
        self.get(conn, rank, at_most, out);
    }

    pub(super) fn send_failed(&mut self, conn: ConnId, why: String, out: &mut Vec<Output>) {
        let Some(Phase::Sending { rank, image }) = self.phases.remove(&conn) else { return };
        self.set_aside(rank, image, &why, out);
        out.push(Output::Close(String::new()));
    }

    fn set_aside(&mut self, rank: Rank, image: ImageNo, why: &str, out: &mut Vec<Output>) {
        let shelf = self.shelf(rank);
        let Some(name) = shelf.take(rank, image) else { return };
        shelf.set_aside += 1;
        let left = match (shelf.images.keys().next_back(), shelf.start_offered) {
            (Some(older), _) => format!("image {older} serves"),
            (None, true) => "the rank would restart from its beginning".into(),
            (None, false) => "no other one is left".into(),
        };
        out.push(Output::Say(format!("image {image} of rank {rank} is damaged ({why}); {left}")));
        out.push(Output::SetAside(name));
    }
}

fn name_of(rank: Rank, stored: Stored) -> ImageName {
    ImageName { rank, image: stored.image, incarnation: stored.incarnation }
}
