//! The contents of a job's directory.

use anyhow::{Context, bail};
use ftmpi_checkpoint::container::{
    Assembler, Decoder, Secret, Summary, Verifier, is_sealed, note_of,
};
use ftmpi_servers::files::Source;
use ftmpi_servers::image_note;
use ftmpi_servers::image_store::{open_container, parse_image_name};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::image_store::Note;
use ftmpi_wire::{ImageId, ImageNo, Rank};
use indicatif::ProgressBar;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// One image.
#[derive(Debug)]
pub struct Image {
    pub rank: Rank,
    pub image: ImageNo,
    pub incarnation: u32,
    pub bytes: u64,
    pub path: PathBuf,
    /// The server has set the image aside.
    pub damaged: bool,
    /// The image is encrypted.
    pub sealed: bool,
    /// The note of the image, or why it cannot be read.
    pub note: Result<Note, UnreadableNote>,
}

/// Why the note of an image cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableNote {
    /// The file of the image.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// The bytes of the note.
    #[error(transparent)]
    Note(#[from] image_note::NoteError),
}

fn read_note(image: &Path) -> Result<Note, UnreadableNote> {
    Ok(image_note::decode(&note_of(File::open(image)?)?)?)
}

/// The images of a job, and its other files.
#[derive(Debug, Default)]
pub struct Job {
    /// By rank, oldest first.
    pub images: BTreeMap<Rank, Vec<Image>>,
    /// Unfinished files.
    pub parts: Vec<PathBuf>,
    /// Containers that are kept only as bases of other images, and their bytes.
    pub bases: Vec<(ImageId, PathBuf, u64)>,
    /// Bytes of events by rank.
    pub events: BTreeMap<Rank, u64>,
}

/// Looks through the directory of a job (or of one server).
pub fn look(directory: &Path) -> anyhow::Result<Job> {
    let about = || format!("the directory of a job, {}, cannot be read", directory.display());
    let mut folders = vec![directory.to_owned()];
    let mut known = false;
    for entry in std::fs::read_dir(directory).with_context(about)? {
        let entry = entry.with_context(about)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        known |= name == "plan";
        if name.starts_with("checkpoint-server-") || name.starts_with("event-logger-") {
            known = true;
            folders.push(entry.path());
        }
    }
    let mut job = Job::default();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            let bytes = entry.metadata().map_or(0, |about| about.len());
            let image = parse_image_name(&name, ".image").map(|name| (name, false));
            let image = image.or_else(|| Some((parse_image_name(&name, ".damaged")?, true)));
            if let Some((id, damaged)) = image {
                known = true;
                let note = read_note(&path);
                let (rank, image, incarnation) = (id.rank, id.image, id.incarnation.0);
                let sealed = File::open(&path).and_then(is_sealed).unwrap_or(false);
                let image = Image { rank, image, incarnation, bytes, path, damaged, sealed, note };
                job.images.entry(id.rank).or_default().push(image);
            } else if let Some(id) = parse_image_name(&name, ".ground") {
                job.bases.push((id, path, bytes));
            } else if name.ends_with(".part") {
                job.parts.push(path);
            } else if let Some(rank) = name
                .strip_suffix(".events")
                .and_then(|name| name.strip_prefix('r')?.split('-').next()?.parse().ok())
            {
                known = true;
                *job.events.entry(Rank(rank)).or_default() += bytes;
            }
        }
    }
    for images in job.images.values_mut() {
        images.sort_by_key(|image| (image.image, image.incarnation));
    }
    if !known {
        bail!(
            "{} is not the directory of a job; name the directory of --job-dir",
            directory.display()
        );
    }
    Ok(job)
}

impl Job {
    /// An image of a rank. Without a number it is the newest one that is not set aside.
    pub fn image(&self, rank: u32, number: Option<u64>) -> anyhow::Result<&Image> {
        let images = self.images.get(&Rank(rank)).map_or(&[][..], Vec::as_slice);
        let wanted = |image: &&Image| match number {
            Some(number) => image.image == ImageNo(number),
            None => !image.damaged,
        };
        let numbers = || images.iter().map(|i| i.image.to_string()).collect::<Vec<_>>().join(", ");
        images.iter().rev().find(wanted).with_context(|| match number {
            _ if images.is_empty() => format!("rank {rank} has no image"),
            Some(number) => format!("rank {rank} has no image {number} (it has {})", numbers()),
            None => format!("rank {rank} has no good image"),
        })
    }

    /// Images of all ranks.
    pub fn all(&self) -> impl Iterator<Item = &Image> {
        self.images.values().flatten()
    }
}

/// Decrypts the images of this job, if they are encrypted and their key can be read.
pub fn secret(directory: &Path, key: Option<&Path>) -> anyhow::Result<Option<Secret>> {
    let file = key.map_or_else(|| directory.join("image-key"), Path::to_owned);
    if key.is_none() && !file.exists() {
        return Ok(None);
    }
    Ok(Some(Secret::new(JobKey::read_file(&file)?.bytes())))
}

/// Checks an image and its bases without decoding it.
pub fn check(image: &Image, bar: &ProgressBar) -> anyhow::Result<Summary> {
    let about = || format!("image {} of rank {}", image.image, image.rank);
    let file = File::open(&image.path).with_context(about)?;
    let dir = image.path.parent().unwrap_or(Path::new(".")).to_owned();
    let open = |base| open_container(&dir, base).map(Source::cached);
    let mut whole = Assembler::new(Source::cached(file), open);
    let (mut verifier, mut piece) = (Verifier::new(), Vec::new());
    while whole.read(&mut piece).with_context(about)? {
        bar.inc(piece.len() as u64);
        verifier.push(&piece).with_context(about)?;
        piece.clear();
    }
    verifier.finish().with_context(about)
}

/// Reads an image and its bases, and hands on its raw stream.
pub fn read(
    image: &Image,
    secret: &Option<Secret>,
    bar: &ProgressBar,
    mut raw: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<Summary> {
    let about = || format!("image {} of rank {}", image.image, image.rank);
    let file = File::open(&image.path).with_context(about)?;
    let dir = image.path.parent().unwrap_or(Path::new(".")).to_owned();
    let open = |base| open_container(&dir, base).map(Source::cached);
    let mut whole = Assembler::new(Source::cached(file), open);
    let mut decoder = Decoder::with_secret(secret.clone());
    let (mut piece, mut out) = (Vec::new(), Vec::new());
    while whole.read(&mut piece).with_context(about)? {
        bar.inc(piece.len() as u64);
        decoder.push(&piece, &mut out).with_context(about)?;
        raw(&out).with_context(about)?;
        piece.clear();
        out.clear();
    }
    decoder.finish().with_context(about)
}
