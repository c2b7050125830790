//! Words for the shell at the other end of ssh.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Quotes a word.
pub fn shell_word(word: &OsStr) -> OsString {
    let bytes = word.as_bytes();
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._-=:,@%+".contains(b);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return word.to_owned();
    }
    let parts: Vec<&[u8]> = bytes.split(|b| *b == b'\'').collect();
    OsString::from_vec([b"'", parts.join(&br"'\''"[..]).as_slice(), b"'"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let quoted = |word: &str| shell_word(word.as_ref()).into_string().unwrap();
        assert_eq!(quoted("/opt/ftmpi/bin/ftmpiexec"), "/opt/ftmpi/bin/ftmpiexec");
        assert_eq!(quoted("/my dir/x"), "'/my dir/x'");
        assert_eq!(quoted("a'b"), r"'a'\''b'");
        assert_eq!(quoted(""), "''");
        assert_eq!(shell_word(OsStr::from_bytes(b"\xe9")).as_bytes(), b"'\xe9'");
    }
}
