//! What `ftmpi-sim scale` found, for people (a table, curves) and for machines (CSV).

use super::{Origin, Row};
use clap::ValueEnum;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// Explains the table.
pub const LEGEND: &str = "\
~: continued along the power law of the two largest sizes that were run.\n\
gate: what a message waits for its sender's determinants. clocks: what the loggers send all ranks about stable events.\n\
held: events of others in a rank's memory after all steps, without any image in between. events back: from the \
restart of a rank until it knows what to repeat. recovery: with its image and the work since. rework: work that is \
done again after one failure.";

/// Names of the numbers of a row, and how to come by them.
type Column = (&'static str, fn(&Row) -> f64);

const COLUMNS: [Column; 13] = [
    ("piggyback B/msg", |r| r.piggyback_bytes),
    ("gate us", |r| r.gate_us),
    ("step ms", |r| r.step_ms),
    ("step/none", |r| r.slowdown),
    ("logger events/s", |r| r.logger_events),
    ("clocks B/s", |r| r.clock_bytes),
    ("held events", |r| r.held_events),
    ("logged B/s/rank", |r| r.logged),
    ("wave ms", |r| r.wave_ms),
    ("events back ms", |r| r.events_ms),
    ("events back B", |r| r.events_bytes),
    ("recovery s", |r| r.recovery_s),
    ("rework rank-h", |r| r.rework_h),
];

fn name(row: &Row) -> String {
    let value = row.variant.to_possible_value().expect("no protocol is hidden");
    value.get_name().to_owned()
}

/// Three digits that count.
fn short(value: f64) -> String {
    match value {
        0.0 => "-".to_owned(),
        v if v.abs() >= 1e5 || v.abs() < 1e-3 => format!("{v:.1e}"),
        v if v.abs() >= 100.0 => format!("{v:.0}"),
        v if v.abs() >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

/// The first line of the table.
#[must_use]
pub fn heading() -> String {
    let mut line = format!("{:<25} {:>8}", "protocol", "ranks");
    for (name, _) in COLUMNS {
        let _ = write!(line, " {name:>15}");
    }
    line
}

/// A line of it.
#[must_use]
pub fn line(row: &Row) -> String {
    let mark = if row.origin == Origin::Extrapolated { "~" } else { " " };
    let mut line = format!("{:<25}{mark}{:>8}", name(row), row.ranks);
    for (_, value) in COLUMNS {
        let _ = write!(line, " {:>15}", short(value(row)));
    }
    line
}

/// All rows, with a heading.
#[must_use]
pub fn csv(rows: &[Row]) -> String {
    let mut text = "protocol,ranks,extrapolated".to_owned();
    for (name, _) in COLUMNS {
        let _ = write!(text, ",{name}");
    }
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{},{},{}", name(row), row.ranks, row.origin == Origin::Extrapolated);
        for (_, value) in COLUMNS {
            let _ = write!(text, ",{:e}", value(row));
        }
        text.push('\n');
    }
    text
}

/// Draws the curves, both axes logarithmic, dots where the machines ran.
///
/// # Errors
/// If the file cannot be written.
pub fn plot(rows: &[Row], file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, (1500, 1500)).into_drawing_area();
        area.fill(&WHITE)?;
        let shown = [0, 3, 4, 6, 9, 11].map(|column| COLUMNS[column]);
        for (part, column) in area.split_evenly((3, 2)).iter().zip(shown) {
            panel(part, rows, column)?;
        }
        area.present()?;
    }
    std::fs::write(file, drawn)?;
    Ok(())
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    rows: &[Row],
    (title, value): Column,
) -> Result<(), Box<dyn std::error::Error>> {
    let positive = || rows.iter().map(|row| (row.ranks, value(row))).filter(|&(_, v)| v > 0.0);
    let (mut low, mut high, mut most) = (f64::INFINITY, 0.0f64, 32);
    for (ranks, v) in positive() {
        (low, high, most) = (low.min(v), high.max(v), most.max(ranks));
    }
    if high <= 0.0 {
        area.titled(&format!("{title}: none"), ("sans-serif", 18))?;
        return Ok(());
    }
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(70)
        .build_cartesian_2d((16..most).log_scale(), (low * 0.8..high * 1.3).log_scale())?;
    chart.configure_mesh().x_desc("ranks").light_line_style(WHITE).draw()?;
    let same_choice = rows.chunk_by(|a, b| a.variant == b.variant);
    for (number, curve) in same_choice.enumerate() {
        let points: Vec<_> = curve.iter().filter(|row| value(row) > 0.0).collect();
        if points.is_empty() {
            continue;
        }
        let color = HSLColor(number as f64 * 0.381_966 % 1.0, 0.75, 0.42);
        chart
            .draw_series(LineSeries::new(points.iter().map(|r| (r.ranks, value(r))), &color))?
            .label(name(points[0]))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
        let run = points.iter().filter(|row| row.origin == Origin::Machines);
        chart.draw_series(run.map(|r| Circle::new((r.ranks, value(r)), 3, color.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.7))
        .draw()?;
    Ok(())
}
