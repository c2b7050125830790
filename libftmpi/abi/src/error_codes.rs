//! Error codes and their texts: those of the standard and those that the program adds (MPI-3.1,
//! 8.5).
//!
//! Guarantees: the code of an error is the number of its class. Codes that the program adds get
//! numbers above the predefined ones, the same in every replay.

use crate::constants::MPI_ERR_LASTCODE;
use ftmpi_core::bail;
use ftmpi_core::error::{ErrorClass, Result};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard};

/// The first number for what the program adds. Above every predefined class; MPICH marks such codes
/// with the same bit.
const FIRST_ADDED: c_int = 0x4000_0000;

/// The codes of the program, and the last text of each class.
struct Registry {
    /// Class of each added code (a class is its own), and its text.
    added: BTreeMap<c_int, (c_int, Vec<u8>)>,
    next: c_int,
    last: BTreeMap<c_int, String>,
}

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { added: BTreeMap::new(), next: FIRST_ADDED, last: BTreeMap::new() });

fn registry() -> MutexGuard<'static, Registry> {
    // A panic aborts the process, so the lock is never poisoned.
    REGISTRY.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Keeps which call the last error of this code came from, and what it was about.
pub fn remember(call: &str, code: c_int, text: &str) {
    // A program that calls an error handler by itself says nothing new.
    if !call.ends_with("_call_errhandler") {
        registry().last.insert(code, format!("{call}: {text}"));
    }
}

/// The class of a code, if there is such a code.
pub fn class_of(code: c_int) -> Option<c_int> {
    if ErrorClass::from_number(code).is_some() {
        return Some(code);
    }
    registry().added.get(&code).map(|(class, _)| *class)
}

/// The answer of `MPI_Error_string`; texts of the program are in its own encoding.
pub fn bytes_of(code: c_int) -> Vec<u8> {
    let registry = registry();
    match ErrorClass::from_number(code) {
        Some(class) if class.number() == 0 => class.text().into(),
        Some(class) => match registry.last.get(&code) {
            Some(last) => format!("{class}: {}: {last}", class.text()).into(),
            None => format!("{class}: {}", class.text()).into(),
        },
        None => registry.added.get(&code).map(|(_, text)| text.clone()).unwrap_or_default(),
    }
}

/// The same as text, for a line of the library.
pub fn text_of(code: c_int) -> String {
    String::from_utf8_lossy(&bytes_of(code)).into_owned()
}

/// The largest code that is in use: the value of the attribute `MPI_LASTUSEDCODE`.
pub fn last_used_code() -> c_int {
    let next = registry().next;
    if next == FIRST_ADDED { MPI_ERR_LASTCODE } else { next - 1 }
}

/// Adds a code of `class`, or a class of its own.
pub fn add(class: Option<c_int>) -> Result<c_int> {
    let mut registry = registry();
    let code = registry.next;
    if code == c_int::MAX {
        bail!(NoMem, "all error codes are used up");
    }
    registry.next += 1;
    registry.added.insert(code, (class.unwrap_or(code), Vec::new()));
    Ok(code)
}

/// Sets the text of a code that the program added; false for every other code.
pub fn set_text(code: c_int, text: &[u8]) -> bool {
    match registry().added.get_mut(&code) {
        Some((_, place)) => {
            *place = text.to_owned();
            true
        }
        None => false,
    }
}

/// `MPI_Remove_error_class`, `_code`, `_string` of MPI-4.1.
pub fn remove(code: c_int, what: &str) -> Result<()> {
    let mut registry = registry();
    if what == "string" {
        match registry.added.get_mut(&code) {
            Some((_, text)) => text.clear(),
            None => bail!(Arg, "{code} was not added by the program"),
        }
        return Ok(());
    }
    let is_class = what == "class";
    match registry.added.get(&code) {
        Some((class, text)) if (*class == code) == is_class => {
            if !text.is_empty() {
                bail!(
                    Arg,
                    "{what} {code} still has a text: remove it with MPI_Remove_error_string"
                );
            }
        }
        _ => bail!(Arg, "{code} is no {what} that the program added"),
    }
    if is_class && registry.added.iter().any(|(other, (class, _))| *other != code && *class == code)
    {
        bail!(Arg, "class {code} still has codes");
    }
    registry.added.remove(&code);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_codes_belong_to_added_classes() {
        let class = add(None).unwrap();
        let code = add(Some(class)).unwrap();
        assert!(class >= FIRST_ADDED && code > class);
        assert_eq!((class_of(class), class_of(code)), (Some(class), Some(class)));
        assert_eq!(class_of(code + 1000), None);
        assert_eq!(class_of(14), Some(14));
        assert!(last_used_code() >= code);
        assert!(remove(class, "class").is_err());
        remove(code, "code").unwrap();
        remove(class, "class").unwrap();
        assert_eq!(class_of(class), None);
    }

    #[test]
    fn texts_name_class_and_last_cause() {
        assert_eq!(text_of(0), "no error");
        remember("MPI_Send", 6, "rank 9 is not in a communicator of size 4");
        assert!(text_of(6).starts_with("MPI_ERR_RANK") && text_of(6).contains("MPI_Send: rank 9"));
        remember("MPI_Comm_call_errhandler", 6, &text_of(6));
        assert!(!text_of(6).contains("errhandler"));
    }
}
