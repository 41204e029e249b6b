//! Pictures of measurements, as SVG: bars side by side, and lines over a logarithmic axis.
//!
//! Called by `bench peers` and `bench scaling`. plotters draws them on a white ground, so that they can be read on any
//! page. Scales begin at zero. A bar that is longer than its panel is cut, and its number says how long it would be.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

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

const OURS: RGBColor = RGBColor(0x1f, 0x6f, 0xeb);
const OTHERS: RGBColor = RGBColor(0xb6, 0xbd, 0xc6);
const INK: RGBColor = RGBColor(0x24, 0x29, 0x2f);
const GRID: RGBColor = RGBColor(0xd0, 0xd7, 0xde);
const COLOURS: [RGBColor; 6] = [
    OURS,
    RGBColor(0x82, 0x50, 0xdf),
    RGBColor(0x6e, 0x77, 0x81),
    RGBColor(0xbf, 0x87, 0x00),
    RGBColor(0x1a, 0x7f, 0x37),
    RGBColor(0xcf, 0x22, 0x2e),
];

const COLUMNS: usize = 3;
const PANEL_WIDTH: i32 = 330;
const LABEL_WIDTH: i32 = 96;
const BAR_HEIGHT: i32 = 14;
const FONT: i32 = 11;

type Drawing<'text> = DrawingArea<SVGBackend<'text>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

/// Panels of bars in rows of three. Bars longer than `ceiling` are cut there; a line marks the length 1.
pub fn bars(title: &str, panels: &[Panel], ceiling: f64) -> String {
    let bars_most = panels.iter().map(|panel| panel.bars.len()).max().unwrap_or(0);
    let panel_height = 34 + bars_most as i32 * BAR_HEIGHT;
    let rows = panels.len().div_ceil(COLUMNS) as i32;
    picture((COLUMNS as i32 * PANEL_WIDTH, 40 + rows * panel_height), |drawing| {
        write(drawing, title, (8, 10), 15, Pos::new(HPos::Left, VPos::Top), true)?;
        for (place, panel) in panels.iter().enumerate() {
            let left = (place % COLUMNS) as i32 * PANEL_WIDTH + 8;
            let top = 40 + (place / COLUMNS) as i32 * panel_height;
            draw_panel(drawing, panel, (left, top), ceiling)?;
        }
        Ok(())
    })
}

fn draw_panel(drawing: &Drawing, panel: &Panel, (left, top): (i32, i32), ceiling: f64) -> Drawn {
    let scale = f64::from(PANEL_WIDTH - LABEL_WIDTH - 62) / ceiling;
    let start = left + LABEL_WIDTH;
    write(drawing, &panel.title, (left, top + 2), FONT, Pos::new(HPos::Left, VPos::Top), true)?;
    for (row, bar) in panel.bars.iter().enumerate() {
        let y = top + 20 + row as i32 * BAR_HEIGHT;
        let middle = y + BAR_HEIGHT / 2;
        let end = start + (bar.value.min(ceiling) * scale).round() as i32;
        let colour = if bar.is_ours { OURS } else { OTHERS };
        let number = format!("{:.2}{}", bar.value, if bar.value > ceiling { " →" } else { "" });
        write(drawing, &bar.label, (start - 4, middle), FONT, Pos::new(HPos::Right, VPos::Center), false)?;
        drawing.draw(&Rectangle::new([(start, y + 1), (end, y + BAR_HEIGHT - 2)], colour.filled()))?;
        write(drawing, &number, (end + 4, middle), FONT, Pos::new(HPos::Left, VPos::Center), false)?;
    }
    let (one, bottom) = (start + scale.round() as i32, top + 20 + panel.bars.len() as i32 * BAR_HEIGHT);
    drawing.draw(&DashedPathElement::new([(one, top + 18), (one, bottom)], 2, 2, INK.stroke_width(1)))?;
    Ok(())
}

/// Lines over a logarithmic x axis; y begins at zero.
pub fn lines(title: &str, x_label: &str, y_label: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let x_min = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let x_max = points().map(|point| point.0).fold(0.0, f64::max).max(x_min * 10.0);
    let y_max = points().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max) * 1.05;
    picture((720, 400), |drawing| {
        let mut chart = ChartBuilder::on(drawing)
            .caption(title, ("sans-serif", 15))
            .margin(10)
            .margin_right(24)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d((x_min..x_max * 1.001).log_scale(), 0.0..y_max)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .x_desc(x_label)
            .y_desc(y_label)
            .x_label_formatter(&|x| short(*x))
            .y_label_formatter(&|y| short(*y))
            .draw()?;
        for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)).point_size(3))?
                .label(&line.label)
                .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .draw()?;
        Ok(())
    })
}

/// What `draw` draws on a white ground of so many pixels.
fn picture((width, height): (i32, i32), draw: impl FnOnce(&Drawing) -> Drawn) -> String {
    let mut svg = String::new();
    {
        let drawing = SVGBackend::with_string(&mut svg, (width as u32, height as u32)).into_drawing_area();
        // A text in memory takes what is drawn; only sizes of nothing, which no caller has, are refused.
        drawing
            .fill(&WHITE)
            .map_err(Into::into)
            .and_then(|()| draw(&drawing))
            .and_then(|()| drawing.present().map_err(Into::into))
            .expect("drawing into memory");
    }
    svg
}

fn write(drawing: &Drawing, text: &str, at: (i32, i32), size: i32, anchor: Pos, is_bold: bool) -> Drawn {
    let style = if is_bold { FontStyle::Bold } else { FontStyle::Normal };
    let font = ("sans-serif", size, style, &INK).into_text_style(drawing).pos(anchor);
    drawing.draw_text(text, &font, at)?;
    Ok(())
}

/// A number as an axis shows it.
fn short(value: f64) -> String {
    match value {
        1e6.. => format!("{}M", (value / 1e4).round() / 100.0),
        1e3.. => format!("{}k", (value / 1e1).round() / 100.0),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Line, Panel, bars, lines, short};

    /// What the attribute is in each line that holds `mark`.
    fn attributes(svg: &str, mark: &str, name: &str) -> Vec<String> {
        let attribute = |line: &str| line.split(&format!(" {name}=\"")).nth(1)?.split('"').next().map(str::to_owned);
        svg.lines().filter(|line| line.contains(mark)).filter_map(attribute).collect()
    }

    #[test]
    fn bar_beyond_the_ceiling_is_cut_and_says_its_length() {
        let bar = |value, label: &str| Bar { label: label.to_owned(), value, is_ours: false };
        let panel =
            Panel { title: "a < b".to_owned(), bars: vec![bar(0.5, "short"), bar(32.0, "long"), bar(4.0, "full")] };
        let svg = bars("Ratios", &[panel], 4.0);
        let widths = attributes(&svg, "fill=\"#B6BDC6\"", "width");
        assert_eq!(widths.len(), 3, "{svg}");
        assert!(widths[1] == widths[2] && widths[0] != widths[1], "{svg}");
        assert!(svg.contains("32.00 →") && svg.contains("a &lt; b") && svg.ends_with("</svg>\n"), "{svg}");
    }

    #[test]
    fn decades_are_equally_far_apart() {
        let line = Line { label: "x".to_owned(), points: vec![(1e3, 1.0), (1e4, 2.0), (1e5, 8.0)] };
        let svg = lines("T", "objects", "ns", &[line]);
        let xs: Vec<f64> = attributes(&svg, "<circle", "cx").iter().filter_map(|x| x.parse().ok()).collect();
        assert_eq!(xs.len(), 3, "{svg}");
        assert!((xs[1] - xs[0] - (xs[2] - xs[1])).abs() <= 1.0, "{xs:?}");
    }

    #[test]
    fn axes_have_short_numbers() {
        assert_eq!((short(1e7), short(1e4), short(0.2)), ("10M".to_owned(), "10k".to_owned(), "0.2".to_owned()));
    }
}
