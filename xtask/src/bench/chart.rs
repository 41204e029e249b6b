//! Pictures of measurements, as SVG: bars side by side, and lines over a logarithmic axis.
//!
//! Called by `bench peers` and `bench scaling`. Written by hand because little is needed: a white ground, so that it
//! can be read on any page; a scale that begins at zero; a bar that is longer than its panel is cut, and its number
//! says how long it would be.

use std::fmt::Write;

/// Bars of one workload.
pub struct Panel {
    /// What stands above.
    pub title: String,
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
pub struct Bar {
    /// Whose it is.
    pub label: String,
    /// How long it is.
    pub value: f64,
    /// Whether it is one that the reader has come for.
    pub is_ours: bool,
}

/// A line through some points.
pub struct Line {
    /// What the legend calls it.
    pub label: String,
    /// Positive x, and y.
    pub points: Vec<(f64, f64)>,
}

const OURS: &str = "#1f6feb";
const OTHERS: &str = "#b6bdc6";
const INK: &str = "#24292f";
const COLOURS: [&str; 6] = ["#1f6feb", "#8250df", "#6e7781", "#bf8700", "#1a7f37", "#cf222e"];

const COLUMNS: usize = 3;
const PANEL_WIDTH: f64 = 330.0;
const LABEL_WIDTH: f64 = 96.0;
const BAR_HEIGHT: f64 = 14.0;

/// Panels of bars in rows of three. Bars longer than `ceiling` are cut there; a line marks the length 1.
pub fn bars(title: &str, panels: &[Panel], ceiling: f64) -> String {
    let bars_most = panels.iter().map(|panel| panel.bars.len()).max().unwrap_or(0);
    let panel_height = 34.0 + bars_most as f64 * BAR_HEIGHT;
    let (width, height) = (COLUMNS as f64 * PANEL_WIDTH, 40.0 + panels.len().div_ceil(COLUMNS) as f64 * panel_height);
    let mut svg = opening(width, height, title);
    for (place, panel) in panels.iter().enumerate() {
        let left = (place % COLUMNS) as f64 * PANEL_WIDTH + 8.0;
        let top = 40.0 + (place / COLUMNS) as f64 * panel_height;
        let scale = (PANEL_WIDTH - LABEL_WIDTH - 62.0) / ceiling;
        let start = left + LABEL_WIDTH;
        let _ = writeln!(
            svg,
            r#"<text x="{left:.0}" y="{:.0}" font-weight="bold">{}</text>"#,
            top + 12.0,
            escaped(&panel.title)
        );
        for (row, bar) in panel.bars.iter().enumerate() {
            let y = top + 20.0 + row as f64 * BAR_HEIGHT;
            let length = bar.value.min(ceiling) * scale;
            let (colour, end) = (if bar.is_ours { OURS } else { OTHERS }, start + length + 4.0);
            let more = if bar.value > ceiling { " →" } else { "" };
            let _ = writeln!(
                svg,
                r#"<text x="{:.0}" y="{:.1}" text-anchor="end">{}</text>"#,
                start - 4.0,
                y + 10.0,
                escaped(&bar.label)
            );
            let _ = writeln!(
                svg,
                r#"<rect x="{start:.0}" y="{:.1}" width="{length:.1}" height="{:.0}" fill="{colour}"/>"#,
                y + 1.0,
                BAR_HEIGHT - 3.0
            );
            let _ = writeln!(svg, r#"<text x="{end:.1}" y="{:.1}">{:.2}{more}</text>"#, y + 10.0, bar.value);
        }
        let (one, bottom) = (start + scale, top + 20.0 + panel.bars.len() as f64 * BAR_HEIGHT);
        let _ = writeln!(
            svg,
            r#"<line x1="{one:.1}" y1="{:.0}" x2="{one:.1}" y2="{bottom:.0}" stroke="{INK}" stroke-dasharray="2 2"/>"#,
            top + 18.0
        );
    }
    svg + "</svg>\n"
}

/// Lines over a logarithmic x axis; y begins at zero.
pub fn lines(title: &str, x_label: &str, y_label: &str, lines: &[Line]) -> String {
    let (width, height, left, top, plot_width, plot_height) = (720.0, 400.0, 70.0, 40.0, 460.0, 290.0);
    let points = || lines.iter().flat_map(|line| &line.points);
    let x_min = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let x_max = points().map(|point| point.0).fold(0.0, f64::max).max(x_min * 10.0);
    let step = step_of(points().map(|point| point.1).fold(0.0, f64::max));
    let steps = (points().map(|point| point.1).fold(0.0, f64::max) / step).ceil().max(1.0);
    let x_of = |x: f64| left + plot_width * (x / x_min).ln() / (x_max / x_min).ln();
    let y_of = |y: f64| top + plot_height * (1.0 - y.max(0.0) / (step * steps));
    let mut svg = opening(width, height, title);
    for number in 0..=steps as usize {
        let (y, value) = (y_of(number as f64 * step), number as f64 * step);
        let _ = writeln!(
            svg,
            r##"<line x1="{left}" y1="{y:.1}" x2="{}" y2="{y:.1}" stroke="#d0d7de"/>"##,
            left + plot_width
        );
        let _ =
            writeln!(svg, r#"<text x="{}" y="{:.1}" text-anchor="end">{}</text>"#, left - 6.0, y + 4.0, short(value));
    }
    let mut x = 10f64.powf(x_min.log10().ceil());
    while x <= x_max * 1.001 {
        let at = x_of(x);
        let bottom = top + plot_height;
        let _ =
            writeln!(svg, r#"<line x1="{at:.1}" y1="{bottom}" x2="{at:.1}" y2="{}" stroke="{INK}"/>"#, bottom + 4.0);
        let _ = writeln!(svg, r#"<text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"#, bottom + 18.0, short(x));
        x *= 10.0;
    }
    for (place, line) in lines.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        let path: Vec<String> = line.points.iter().map(|&(x, y)| format!("{:.1},{:.1}", x_of(x), y_of(y))).collect();
        let _ =
            writeln!(svg, r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#, path.join(" "));
        for point in &path {
            let (x, y) = point.split_once(',').expect("written with a comma above");
            let _ = writeln!(svg, r#"<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>"#);
        }
        let (x, y) = (left + plot_width + 14.0, top + 10.0 + place as f64 * 18.0);
        let _ = writeln!(svg, r#"<rect x="{x}" y="{:.0}" width="10" height="10" fill="{colour}"/>"#, y - 9.0);
        let _ = writeln!(svg, r#"<text x="{}" y="{y:.0}">{}</text>"#, x + 15.0, escaped(&line.label));
    }
    let middle = left + plot_width / 2.0;
    let _ =
        writeln!(svg, r#"<text x="{middle}" y="{}" text-anchor="middle">{}</text>"#, height - 20.0, escaped(x_label));
    let across = top + plot_height / 2.0;
    let _ = writeln!(
        svg,
        r#"<text x="16" y="{across}" text-anchor="middle" transform="rotate(-90 16 {across})">{}</text>"#,
        escaped(y_label)
    );
    svg + "</svg>\n"
}

fn opening(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\" fill=\"{INK}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"22\" font-size=\"15\" font-weight=\"bold\">{}</text>\n",
        escaped(title)
    )
}

/// A round number that goes into `most` four to ten times.
fn step_of(most: f64) -> f64 {
    let power = 10f64.powf((most.max(1e-9) / 4.0).log10().floor());
    [5.0, 2.0, 1.0].map(|digit| digit * power).into_iter().find(|step| most / step >= 4.0).unwrap_or(power)
}

/// A number as an axis shows it.
fn short(value: f64) -> String {
    match value {
        1e6.. => format!("{}M", value / 1e6),
        1e3.. => format!("{}k", value / 1e3),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Bar, Line, Panel, bars, lines, short, step_of};

    #[test]
    fn bar_beyond_the_ceiling_is_cut_and_says_its_length() {
        let bar = |value, label: &str| Bar { label: label.to_owned(), value, is_ours: false };
        let panel =
            Panel { title: "a < b".to_owned(), bars: vec![bar(0.5, "short"), bar(32.0, "long"), bar(4.0, "full")] };
        let svg = bars("Ratios", &[panel], 4.0);
        let widths: Vec<&str> = svg.lines().filter(|line| line.contains("fill=\"#b6bdc6\"")).collect();
        let width =
            |line: &str| line.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
        assert_eq!(width(widths[1]), width(widths[2]), "{svg}");
        assert!(svg.contains("32.00 →") && svg.contains("a &lt; b") && svg.ends_with("</svg>\n"), "{svg}");
    }

    #[test]
    fn decades_are_equally_far_apart() {
        let line = Line { label: "x".to_owned(), points: vec![(1e3, 1.0), (1e4, 2.0), (1e5, 8.0)] };
        let svg = lines("T", "objects", "ns", &[line]);
        let xs: Vec<f64> = svg
            .lines()
            .filter_map(|line| line.strip_prefix("<circle cx=\"")?.split('"').next()?.parse().ok())
            .collect();
        assert!((xs[1] - xs[0] - (xs[2] - xs[1])).abs() < 0.2, "{xs:?}");
    }

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!((step_of(8.0), step_of(0.9), step_of(130.0)), (2.0, 0.2, 20.0));
        assert_eq!((short(1e7), short(1e4), short(0.2)), ("10M".to_owned(), "10k".to_owned(), "0.2".to_owned()));
    }
}
