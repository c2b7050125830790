//! Pages as text: for a terminal, as a manual page, as Markdown, as completions.

#[cfg(feature = "pages")]
pub mod completions;
pub mod manual;
pub mod markdown;
pub mod terminal;

/// Breaks a text into lines of at most `width` characters, between words.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let room = width.saturating_sub(word.chars().count() + 1);
        match lines.last_mut() {
            Some(line) if line.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 6), ["one", "two", "three"]);
        assert_eq!(wrap("a-very-long-word x", 5), ["a-very-long-word", "x"]);
        assert!(wrap(" ", 5).is_empty());
    }
}
