//! The note of an image, as bytes: JSON, so that tools of other versions can read it.
//!
//! Fields that a newer version added are ignored. Fields that an older version lacked are zero or
//! empty.

use ftmpi_wire::image_store::Note;

/// Why a note cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("its note cannot be understood: {0}")]
pub struct NoteError(#[from] serde_json::Error);

impl From<NoteError> for String {
    fn from(error: NoteError) -> Self {
        error.to_string()
    }
}

/// The note as bytes for the container.
///
/// # Panics
/// Never: JSON can express every note.
#[must_use]
pub fn encode(note: &Note) -> Vec<u8> {
    serde_json::to_vec(note).expect("a note of numbers and strings")
}

/// Reads a note. No bytes are an empty note.
///
/// # Errors
/// The bytes are no note.
pub fn decode(bytes: &[u8]) -> Result<Note, NoteError> {
    if bytes.is_empty() {
        return Ok(Note::default());
    }
    Ok(serde_json::from_slice(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_other_versions_are_read() {
        let note = Note { taken_ms: 5, host: "a".into(), ..Note::default() };
        assert_eq!(decode(&encode(&note)).unwrap(), note);
        assert_eq!(decode(b"").unwrap(), Note::default());
        let other = br#"{"counts":{"written":[3,4]},"new":[1]}"#;
        assert_eq!(decode(other).unwrap().counts.written, [3, 4]);
        assert!(decode(b"{").is_err());
    }
}
