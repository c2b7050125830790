//! The constants of `mpi_preamble.h`, as numbers: what Fortran's `PARAMETER`s are made of.
//!
//! Reads `#define MPI_X number` (with casts and parentheses), `#define MPI_X MPI_Y`, and enums.
//! Names may also begin with `MPIX_`.

use std::collections::BTreeMap;

/// Names and values, in the order of the header.
pub fn read(header: &str) -> Vec<(String, i64)> {
    let text = without_comments(header);
    let mut known = BTreeMap::new();
    let mut found: Vec<(String, i64)> = Vec::new();
    let mut add = |name: &str, value: i64, known: &mut BTreeMap<String, i64>| {
        // A handle such as 0x8c000000 is a negative 32-bit integer.
        let value = if (1 << 31..1 << 32).contains(&value) { value - (1 << 32) } else { value };
        if known.insert(name.to_owned(), value).is_none() {
            found.push((name.to_owned(), value));
        }
    };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let constant = line
            .strip_prefix("#define ")
            .filter(|rest| rest.starts_with("MPI_") || rest.starts_with("MPIX_"));
        if let Some(rest) = constant {
            let Some((name, value)) = rest.split_once(' ') else { continue };
            if let Some(value) = number(value, &known) {
                add(name, value, &mut known);
            }
        } else if line.contains("enum ") && line.contains('{') {
            let mut body = line[line.find('{').map_or(0, |i| i + 1)..].to_owned();
            while !body.contains('}') {
                let Some(more) = lines.next() else { break };
                body.push_str(more);
            }
            let mut next = 0;
            for item in body[..body.find('}').unwrap_or(body.len())].split(',') {
                let (name, value) = item.split_once('=').unwrap_or((item, ""));
                let name = name.trim();
                if name.is_empty() {
                    continue;
                }
                next = number(value, &known).unwrap_or(next);
                add(name, next, &mut known);
                next += 1;
            }
        }
    }
    found
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("/*") {
        out.push_str(before);
        rest = behind.split_once("*/").map_or("", |(_, r)| r);
    }
    out + rest
}

/// The value of `((MPI_Comm)0x44000000)`, `-2`, `(-2)` or a known name; none for pointers and the
/// rest.
fn number(text: &str, known: &BTreeMap<String, i64>) -> Option<i64> {
    let mut t = text.trim();
    loop {
        let inner = t.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
        if let Some(inner) = inner.filter(|_| !t[1..].contains(")(")) {
            t = inner.trim();
        } else if let Some((cast, behind)) = t.strip_prefix('(').and_then(|t| t.split_once(')')) {
            if cast.contains('*') {
                return None;
            }
            t = behind.trim();
        } else {
            break;
        }
    }
    if let Some(hex) = t.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok();
    }
    t.parse().ok().or_else(|| known.get(t).copied())
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn numbers_of_every_form() {
        let text = "#define MPI_A ((MPI_Comm)0x8c000000)\n#define MPI_B (-2) /* x */\n\
                    #define MPI_C MPI_B\n#define MPI_D ((void *)-1)\n\
                    enum E { MPI_E = 5, MPI_F };\n#define MPI_G ((MPI_Offset)-54)\n";
        let expected = [
            ("MPI_A", -0x74000000),
            ("MPI_B", -2),
            ("MPI_C", -2),
            ("MPI_E", 5),
            ("MPI_F", 6),
            ("MPI_G", -54),
        ];
        assert_eq!(read(text), expected.map(|(n, v)| (n.to_owned(), v)));
    }
}
