//! What the catalogue answers, and what it does when storage answers.

use super::{Ask, CheckError, ConnId, ImageCatalogue, Output, Phase, RankImages, Record};
use ftmpi_wire::image_store::{Answer, Counts, Stored};
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};

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
                self.put(conn, ImageId { rank, image, incarnation }, out);
            }
            (None, Ask::List { rank }) => {
                let rank_images = self.rank_images(rank).describe();
                out.push(Output::Answer(Answer::RankImages(rank_images)));
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
                if let Some(why) = self.rank_images(name.rank).objection(name) {
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

    pub(super) fn rank_images(&mut self, rank: Rank) -> &mut RankImages {
        let (object_tier, waves_cut_logs) = (self.object_tier, self.waves_cut_logs);
        self.by_rank.entry(rank).or_insert_with(|| RankImages::new(object_tier, waves_cut_logs))
    }

    fn declare(
        &mut self,
        conn: ConnId,
        rank: Rank,
        incarnation: Incarnation,
        out: &mut Vec<Output>,
    ) {
        let rank_images = self.rank_images(rank);
        if let Some(why) = rank_images.is_over(rank, incarnation) {
            out.push(Output::Answer(Answer::Refused(why)));
        } else if incarnation == rank_images.durable {
            out.push(Output::Answer(Answer::Done));
        } else {
            // From here on later checks see it, whatever storage answers.
            rank_images.incarnation = incarnation;
            let record = rank_images.record();
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
        let rank_images = self.rank_images(rank);
        if let Some(why) = rank_images.is_over(rank, incarnation) {
            return out.push(Output::Answer(Answer::Refused(why)));
        }
        rank_images.keep = Some(images);
        // The next image may rest on them, so that they go only if there is no room for it.
        rank_images.void =
            rank_images.images.keys().copied().filter(|image| !images.contains(image)).collect();
        out.push(Output::Answer(Answer::Done));
    }

    /// There is no room: images of waves that came to nothing go, because the next wave needs their
    /// room. If images must leave room on the disk and do not, the older image of each rank goes,
    /// too.
    pub(super) fn make_room(&mut self, out: &mut Vec<Output>) {
        let before = self.bytes();
        for (rank, rank_images) in &mut self.by_rank {
            out.extend(rank_images.take_void(*rank).into_iter().map(Output::Remove));
        }
        self.free = self.free.saturating_add(before.saturating_sub(self.bytes()));
        if self.bytes() <= self.free {
            return;
        }
        let before = self.bytes();
        for (rank, rank_images) in &mut self.by_rank {
            out.extend(rank_images.take_older(*rank).into_iter().map(Output::Remove));
        }
        self.free = self.free.saturating_add(before.saturating_sub(self.bytes()));
    }

    fn return_to(
        &mut self,
        conn: ConnId,
        (rank, incarnation): (Rank, Incarnation),
        image: ImageNo,
        out: &mut Vec<Output>,
    ) {
        let rank_images = self.rank_images(rank);
        if let Some(why) = rank_images.is_over(rank, incarnation) {
            return out.push(Output::Answer(Answer::Refused(why)));
        }
        let images: Vec<Stored> =
            rank_images.images.range(image.next()..).map(|(_, s)| *s).collect();
        let taken = images.iter().filter_map(|stored| rank_images.take(rank, stored.image));
        let names: Vec<ImageId> = taken.collect();
        if names.is_empty() {
            rank_images.highest = rank_images.highest.min(image);
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
        let rank_images = self.rank_images(rank);
        let answer = match outcome {
            Ok(()) => {
                // A launcher that continues the job must not take them for lost.
                let before = images[0].image.0 - 1;
                rank_images.highest = ImageNo(before);
                Answer::Done
            }
            Err(why) => {
                // They may be found again.
                rank_images.images.extend(images.into_iter().map(|stored| (stored.image, stored)));
                Answer::Refused(format!(
                    "images of rank {rank} that were given up cannot be removed: {why}"
                ))
            }
        };
        out.push(Output::Answer(answer));
    }

    fn put(&mut self, conn: ConnId, name: ImageId, out: &mut Vec<Output>) {
        let busy = self.phases.values().any(|phase| match phase {
            Phase::Receiving { name: other, .. }
            | Phase::Verifying { name: other, .. }
            | Phase::Publishing { name: other, .. } => *other == name,
            _ => false,
        });
        let rank_images = self.rank_images(name.rank);
        let objection = if name.image == ImageNo(0) {
            Some("images are numbered from 1".to_owned())
        } else if busy {
            Some(format!("image {} of rank {} is already on its way", name.image, name.rank))
        } else {
            rank_images.objection(name)
        };
        if let Some(why) = objection {
            return self.refuse_early(conn, why, out);
        }
        // An incarnation that is unknown here: its declaration was lost with an earlier server.
        rank_images.incarnation = rank_images.incarnation.max(name.incarnation);
        self.phases.insert(conn, Phase::Receiving { name, bytes: 0 });
        out.push(Output::Create(name));
    }

    fn refuse_early(&mut self, conn: ConnId, why: String, out: &mut Vec<Output>) {
        self.phases.insert(conn, Phase::Swallowing);
        out.push(Output::Answer(Answer::Refused(why)));
    }

    fn data(&mut self, conn: ConnId, name: ImageId, bytes: u64, more: u64, out: &mut Vec<Output>) {
        // What came so far does not count while its phase is taken out.
        let total = |catalogue: &Self| catalogue.bytes().saturating_add(bytes).saturating_add(more);
        if total(self) > self.bytes_max.min(self.free) {
            // What has come is on the disk, whether it is counted or not.
            self.phases.insert(conn, Phase::Receiving { name, bytes: bytes.saturating_add(more) });
            self.make_room(out);
            self.phases.remove(&conn);
        }
        let objection = if total(self) > self.free {
            Some(format!(
                "image {} of rank {} would leave the program too little room on the disk of the \
                 checkpoint server ({} are free, and images take at most as much as they leave; \
                 --image-space SIZE sets another limit); older images stand",
                name.image,
                name.rank,
                megabytes(self.free)
            ))
        } else if total(self) > self.bytes_max {
            Some(format!(
                "the checkpoint server may store {} bytes, and image {} of rank {} does not fit: \
                 raise its limit (three images of each rank must fit); older images stand",
                self.bytes_max, name.image, name.rank
            ))
        } else {
            self.rank_images(name.rank).objection(name)
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
        // Its incarnation may have ended while it was verified.
        let accepted = match outcome {
            Ok(counts) => self.rank_images(name.rank).objection(name).map_or(Ok(counts), Err),
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
        let rank_images = self.rank_images(name.rank);
        let stored = Stored { image: name.image, incarnation: name.incarnation, bytes, counts };
        rank_images.images.insert(name.image, stored);
        rank_images.highest = name.image;
        rank_images.is_stored(name.incarnation);
        if rank_images.start_is_spare(waves_cut_logs) {
            let record = Record { start_offered: false, ..rank_images.record() };
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
                    Ok(()) => self.rank_images(rank).is_stored(incarnation),
                    // It holds as long as this process runs, and an image of the new
                    // incarnation or the next declaration makes it durable.
                    Err(why) => out.push(Output::Say(format!(
                        "the declaration of incarnation {incarnation} of rank {rank} cannot be stored: \
                         {why}"
                    ))),
                }
                out.push(Output::Answer(Answer::Done));
            }
            Some(Phase::Closing { name, bytes }) => {
                // If it could not be stored, the start simply remains offered.
                match outcome {
                    Ok(()) => self.rank_images(name.rank).start_offered = false,
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

    fn committed(&mut self, conn: ConnId, name: ImageId, bytes: u64, out: &mut Vec<Output>) {
        let rank_images = self.rank_images(name.rank);
        if let Some(level) = &mut rank_images.level {
            level.came(name.image);
        }
        let waits = rank_images.level.is_some() && rank_images.keep.is_some();
        let surplus = rank_images.take_surplus(name.rank);
        let oldest = rank_images.oldest();
        out.extend(surplus.into_iter().map(Output::Remove));
        self.flush_next(name.rank, out);
        if waits {
            self.phases.insert(conn, Phase::Flushing { name, bytes });
            self.object_tier_progress(conn, out);
        } else {
            out.push(Output::Answer(Answer::Committed { image: name.image, bytes, oldest }));
        }
    }

    fn get(&mut self, conn: ConnId, rank: Rank, at_most: ImageNo, out: &mut Vec<Output>) {
        let rank_images = self.rank_images(rank);
        if let Some(stored) = rank_images.newest(at_most) {
            out.push(Output::Check(name_of(rank, stored)));
            self.phases.insert(conn, Phase::Checking { rank, at_most, stored });
        } else if rank_images.start_offered {
            out.push(Output::Answer(Answer::NoImage));
        } else {
            let why = if rank_images.set_aside > 0 {
                format!(
                    "no image of rank {rank} is good any more ({} were damaged), and the messages \
                     before them are gone: the rank cannot be restarted",
                    rank_images.set_aside
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
        let still_offered = self.rank_images(rank).images.get(&stored.image) == Some(&stored);
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
        let rank_images = self.rank_images(rank);
        let Some(name) = rank_images.take(rank, image) else { return };
        rank_images.set_aside += 1;
        let left = match (rank_images.images.keys().next_back(), rank_images.start_offered) {
            (Some(older), _) => format!("image {older} serves"),
            (None, true) => "the rank would restart from its beginning".into(),
            (None, false) => "no other one is left".into(),
        };
        out.push(Output::Say(format!("image {image} of rank {rank} is damaged ({why}); {left}")));
        out.push(Output::SetAside(name));
    }
}

fn name_of(rank: Rank, stored: Stored) -> ImageId {
    ImageId { rank, image: stored.image, incarnation: stored.incarnation }
}

/// Bytes, for people.
fn megabytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
