//! Quantities in words, for terminals.

/// A number of bytes: `999 B`, `1.5 GB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_the_unit_that_makes_them_short() {
        let sizes = [0, 999, 1000, 999_499, 1_500_000, u64::MAX].map(size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "999.5 kB", "1.5 MB", "18446744.1 TB"]);
    }
}
