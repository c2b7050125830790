//! Journals of the program's files, under a protocol that returns all ranks to a wave. What a
//! change destroys is written down before the change (`ftmpi_checkpoint::undo`), so the files
//! return with the ranks. The operations are in `world/files.rs`.

use ftmpi_checkpoint::undo::{Author, Journals};
use ftmpi_wire::ImageNo;
use ftmpi_wire::control::JobView;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

/// The journals of this rank, and which files they are of.
#[derive(Debug)]
pub(crate) struct FileUndo {
    pub(crate) journals: Journals,
    pub(crate) job: u64,
    /// The wave from which this incarnation began.
    pub(crate) wave: u64,
    /// The whole paths of open files.
    pub(crate) open: HashMap<u32, PathBuf>,
    /// Files whose path is no text, of which the user knows.
    pub(crate) named: HashSet<PathBuf>,
    /// The first wave that was committed: with it alone ranks may still return to the beginning.
    pub(crate) first: Option<ImageNo>,
}

impl FileUndo {
    /// For an incarnation that begins from an image, or from the beginning; `before`: the journals
    /// of the incarnation whose image it was.
    pub(crate) fn of(
        job: &JobView,
        author: Author,
        before: Option<Box<FileUndo>>,
    ) -> Option<Box<FileUndo>> {
        if job.files == 0 {
            return None;
        }
        let mut file_undo = before.unwrap_or_else(|| {
            let journals = Journals::new(job.files, author);
            let (open, named) = (HashMap::new(), HashSet::new());
            Box::new(FileUndo { journals, job: job.files, wave: 0, open, named, first: None })
        });
        file_undo.journals.begin_incarnation(author);
        file_undo.wave = author.wave;
        Some(file_undo)
    }

    /// An image of this rank was taken.
    pub(crate) fn image(&mut self, image: ImageNo) {
        self.journals.image(image.0);
    }

    /// A wave was committed, and nobody returns further than to `oldest`; but to the beginning, as
    /// long as there is only one wave.
    pub(crate) fn committed(&mut self, image: ImageNo, oldest: ImageNo) -> io::Result<()> {
        if *self.first.get_or_insert(image) == oldest && image == oldest {
            return Ok(());
        }
        self.journals.committed(oldest.0)
    }
}
