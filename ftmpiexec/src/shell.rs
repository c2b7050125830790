//! Words for the shell at the other end of ssh.

/// Quotes a word.
pub fn shell_word(word: &str) -> String {
    if !word.is_empty()
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-=:,@%+".contains(&b))
    {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("/opt/ftmpi/bin/ftmpiexec"), "/opt/ftmpi/bin/ftmpiexec");
        assert_eq!(shell_word("/my dir/x"), "'/my dir/x'");
        assert_eq!(shell_word("a'b"), r"'a'\''b'");
    }
}
