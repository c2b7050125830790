//! Reads the text format of Prometheus and checks its conventions, for tests of what writes it.

use std::collections::BTreeMap;

/// Why a page cannot be read, or breaks the conventions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A metric breaks a convention.
    #[error("{metric}: {rule}")]
    Convention {
        /// Name of the metric.
        metric: String,
        /// The rule.
        rule: &'static str,
    },
    /// A line breaks the format.
    #[error("{why}: {line}")]
    Line {
        /// The line.
        line: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The page does not end with the end of a line.
    #[error("the last line has no end")]
    Unended,
}

/// A page, read.
#[derive(Debug, Default)]
pub struct Page {
    /// By name.
    pub families: BTreeMap<String, ParsedFamily>,
}

/// One metric of a page.
#[derive(Debug, Default)]
pub struct ParsedFamily {
    /// Its `TYPE`.
    pub kind: String,
    /// Its `HELP`.
    pub help: String,
    /// Labels and value of each sample.
    pub samples: Vec<(BTreeMap<String, String>, f64)>,
}

impl Page {
    /// The value of the first sample of this name that has these labels, among others.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |of: &BTreeMap<String, String>| {
            labels.iter().all(|(label, value)| of.get(*label).is_some_and(|has| has == value))
        };
        let samples = &self.families.get(name)?.samples;
        samples.iter().find(|(of, _)| has(of)).map(|(_, value)| *value)
    }

    /// Checks what Prometheus expects of names and what users need: `HELP` and `TYPE` for each
    /// metric, `_total` for counters only, base units, one sample for each label set.
    ///
    /// # Errors
    /// The first metric that breaks a rule, and which rule.
    pub fn check_conventions(&self) -> Result<(), FormatError> {
        for (name, family) in &self.families {
            let rule = |holds: bool, rule: &'static str| match holds {
                true => Ok(()),
                false => Err(FormatError::Convention { metric: name.clone(), rule }),
            };
            rule(!family.help.is_empty(), "there is no HELP")?;
            rule(["counter", "gauge"].contains(&&*family.kind), "its TYPE is unknown")?;
            rule(
                name.ends_with("_total") == (family.kind == "counter"),
                "a counter ends in _total, and nothing else does",
            )?;
            let parts: Vec<&str> = name.split('_').collect();
            for unit in ["ms", "ns", "us", "s", "milliseconds", "kb", "mb", "kib", "mib"] {
                rule(!parts.contains(&unit), "times are in seconds, sizes in bytes")?;
            }
            rule(!family.samples.is_empty(), "there is no sample")?;
            let mut seen = Vec::new();
            for (labels, value) in &family.samples {
                rule(!seen.contains(&labels), "two samples have the same labels")?;
                rule(!value.is_nan(), "a value is no number")?;
                rule(*value >= 0.0, "a value is negative")?;
                seen.push(labels);
            }
        }
        Ok(())
    }
}

/// Reads a page.
///
/// # Errors
/// The first line that breaks the format.
pub fn parse(text: &str) -> Result<Page, FormatError> {
    let mut page = Page::default();
    let mut current = String::new();
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(FormatError::Unended);
    }
    for line in text.lines() {
        let wrong = |why: &'static str| FormatError::Line { line: line.to_owned(), why };
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').ok_or_else(|| wrong("no text"))?;
            if page.families.contains_key(name) {
                return Err(wrong("a metric comes twice"));
            }
            name.clone_into(&mut current);
            page.families.entry(name.into()).or_default().help = help.into();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').ok_or_else(|| wrong("no type"))?;
            if name != current {
                return Err(wrong("a TYPE that does not follow its HELP"));
            }
            page.families.entry(name.into()).or_default().kind = kind.into();
        } else {
            let (name, labels, value) = sample(line).ok_or_else(|| wrong("no sample"))?;
            let family = page.families.get_mut(&name).filter(|family| !family.kind.is_empty());
            let family = family.ok_or_else(|| wrong("a sample before its TYPE"))?;
            if name != current {
                return Err(wrong("a sample that does not stand with its metric"));
            }
            family.samples.push((labels, value));
        }
    }
    Ok(page)
}

fn is_name(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(word)
}

fn sample(line: &str) -> Option<(String, BTreeMap<String, String>, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            if !is_name(label) || labels.insert(label.to_owned(), value).is_some() {
                return None;
            }
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None => {
                    rest = after.strip_prefix('}')?;
                    break;
                }
            }
        }
    }
    let value = rest.strip_prefix(' ')?.parse().ok()?;
    is_name(name).then(|| (name.to_owned(), labels, value))
}

/// The text up to the closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other @ ('\\' | '"') => value.push(other),
                _ => return None,
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_and_a_broken_one_refused() {
        let good = "# HELP a_total A b.\n# TYPE a_total counter\na_total{x=\"1\\\"\",y=\"\"} 2\n";
        let page = parse(good).unwrap();
        assert_eq!(page.value("a_total", &[("x", "1\"")]), Some(2.0));
        assert_eq!(page.value("a_total", &[("x", "2")]), None);
        page.check_conventions().unwrap();
        for bad in [
            "a 1",
            "a 1\n",
            "# TYPE a gauge\n",
            "# HELP a A.\na 1\n",
            "# HELP a A.\n# TYPE a gauge\na{ 1\n",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_that_break_the_conventions_are_found() {
        let page = |name: &str, kind: &str| {
            parse(&format!("# HELP {name} A.\n# TYPE {name} {kind}\n{name} 1\n")).unwrap()
        };
        for (name, kind) in [
            ("a", "counter"),
            ("a_total", "gauge"),
            ("a_ms", "gauge"),
            ("a_s", "gauge"),
            ("a", "untyped"),
        ] {
            assert!(page(name, kind).check_conventions().is_err(), "{name} {kind}");
        }
        assert!(
            parse("# HELP a A.\n# TYPE a gauge\na 1\na 2\n").unwrap().check_conventions().is_err()
        );
    }
}
