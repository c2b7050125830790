//! What servers say on their standard error: a full disk, a damaged image, an object store that does not answer.
//!
//! Guarantees: what a server says is told once it serves, in its order; of one that does not come up, its end
//! tells the last of it. However much one talks, so many lines are told.

/// Lines of one server that are told.
const LINES_MAX: usize = 200;
/// Of one line.
const CHARS_MAX: usize = 400;

/// Of one server, over all its lives.
#[derive(Debug, Default)]
pub(super) struct Words {
    waiting: Vec<String>,
    told: usize,
}

/// What a server says in this line; none: it comes from something else (a shell's greeting, a panic).
pub(super) fn said(line: &str) -> Option<String> {
    let (name, text) = line.split_once(": ")?;
    name.starts_with("ftmpi-").then(|| text.chars().take(CHARS_MAX).collect())
}

impl Words {
    /// It begins again.
    pub fn begins(&mut self) {
        self.waiting.clear();
    }

    /// It said this.
    pub fn says(&mut self, text: String) {
        if self.told + self.waiting.len() < LINES_MAX {
            self.waiting.push(text);
        } else if self.told + self.waiting.len() == LINES_MAX {
            self.waiting.push("it says more, which is not told here".into());
        }
    }

    /// What is to be told now that it serves.
    pub fn take(&mut self) -> Vec<String> {
        self.told += self.waiting.len();
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_of_servers_are_told() {
        let told = said("ftmpi-event-logger: events cannot be made durable: no space");
        assert_eq!(told.unwrap(), "events cannot be made durable: no space");
        assert_eq!(said("Warning: Permanently added 'h' to the list of known hosts."), None);
        assert_eq!(said("ftmpi-event-logger"), None);
    }

    #[test]
    fn a_server_that_talks_without_end_is_cut_off() {
        let mut words = Words::default();
        words.says("of a life that did not come up".into());
        words.begins();
        for line in 0..2 * LINES_MAX {
            words.says(line.to_string());
        }
        let told = words.take();
        assert_eq!((told.len(), told[0].as_str()), (LINES_MAX + 1, "0"));
        words.says("more".into());
        assert!(words.take().is_empty());
    }
}
