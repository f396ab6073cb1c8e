//! A laid-out picture as SVG text.

use std::fmt::{Display, Write};

use super::card::{Anchor, CARD_H, CARD_W, Dot, IDEA_H, Ink, Line, Shape, Strip};
use super::layout::{Cell, Picture, Rect, Wire};
use super::legend::{Entry, SIGN_W, Sign};
use super::measure::Mark;
use super::place::WireKind;
use super::style::{HATCHES, STYLE};
use super::text::Font;
use crate::project::escape::xml;
use crate::project::lineage::standing::Standing;

/// A picture up to this width shrinks to its window and stays readable; a wider one scrolls.
const SHRINK_MAX: i32 = 1_800;

/// A document under construction. Writing to a string does not fail.
struct Out(String);

impl Out {
    fn put(&mut self, text: impl Display) {
        let _ = writeln!(self.0, "{text}");
    }
}

/// The whole document.
pub(super) fn draw(picture: &Picture) -> String {
    let (width, height) = (picture.width, picture.height);
    let mut out = Out(String::new());
    let shrink = if width <= SHRINK_MAX { " style=\"max-width:100%;height:auto\"" } else { "" };
    out.put(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\"{shrink} role=\"img\" aria-labelledby=\"title desc\">"
    ));
    out.put(format_args!("<title id=\"title\">{}</title>", xml(&picture.title)));
    out.put(format_args!("<desc id=\"desc\">{}</desc>", xml(&picture.description)));
    out.put(format_args!("<style>\n{STYLE}</style>"));
    out.put(format_args!("<defs>\n{HATCHES}{}{}</defs>", clip("card", CARD_H), clip("idea", IDEA_H)));
    out.put(format_args!("<rect class=\"bg\" width=\"{width}\" height=\"{height}\"/>"));
    for lane in &picture.lanes {
        out.put(rect("lane", *lane, 8));
    }
    for wire in &picture.wires {
        draw_wire(&mut out, wire);
    }
    for line in &picture.lines {
        draw_line(&mut out, line);
    }
    for cell in &picture.cells {
        draw_cell(&mut out, cell);
    }
    for entry in &picture.legend {
        draw_entry(&mut out, entry);
    }
    out.put("</svg>");
    out.0
}

fn clip(name: &str, height: i32) -> String {
    format!(
        "<clipPath id=\"c-{name}\"><rect x=\"-2\" y=\"-2\" width=\"{}\" height=\"{}\"/></clipPath>\n",
        CARD_W + 4,
        height + 4
    )
}

fn rect(class: &str, rect: Rect, radius: i32) -> String {
    let Rect { x, y, w, h } = rect;
    format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{radius}\"/>")
}

fn draw_line(out: &mut Out, line: &Line) {
    let font = match line.font {
        Font::Sans => "",
        Font::Bold => " b",
        Font::Mono => " m",
    };
    let ink = match line.ink {
        Ink::Main => "main",
        Ink::Muted => "muted",
        Ink::Alarm => "alarm",
    };
    let anchor = match line.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    if !line.text.is_empty() {
        out.put(format_args!(
            "<text class=\"{ink}{font}\" x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}>{}</text>",
            line.x,
            line.y,
            line.size,
            xml(&line.text)
        ));
    }
}

const fn wire_class(kind: WireKind) -> &'static str {
    match kind {
        WireKind::Hard => "hard",
        WireKind::Support => "support",
        WireKind::Contrast => "contrast",
        WireKind::Idea => "idea-w",
        WireKind::Succession => "succession",
    }
}

fn draw_wire(out: &mut Out, wire: &Wire) {
    let class = wire_class(wire.kind);
    let mut path = String::new();
    for (place, (x, y)) in wire.points.iter().enumerate() {
        let _ = write!(path, "{}{x} {y}", if place == 0 { "M" } else { "L" });
    }
    out.put(format_args!("<path class=\"w {class}\" d=\"{path}\"/>"));
    if let Some((x, y)) = wire.points.last() {
        out.put(format_args!("<path class=\"a-{class}\" d=\"M{x} {y}l-7 -4v8z\"/>"));
    }
}

fn standing_class(standing: Standing) -> &'static str {
    match standing {
        Standing::Valid => "",
        Standing::Reduced => " reduced",
        Standing::Tainted => " tainted",
        Standing::Unsupported => " unsupported",
        Standing::Invalid => " invalid",
    }
}

fn draw_cell(out: &mut Out, cell: &Cell) {
    let (card, Rect { x, y, w, h }) = (&cell.card, cell.rect);
    let clip = if h == IDEA_H { "idea" } else { "card" };
    out.put(format_args!("<g transform=\"translate({x} {y})\" clip-path=\"url(#c-{clip})\">"));
    out.put(format_args!("<title>{}</title>", xml(&card.tooltip)));
    let standing = standing_class(card.standing);
    let face = Rect { x: 0, y: 0, w, h };
    match card.shape {
        Shape::Idea => out.put(rect(&format!("card idea{standing}"), face, 6)),
        Shape::Experiment => out.put(rect(&format!("card{standing}"), face, 6)),
        Shape::Promotion => {
            out.put(rect(&format!("promotion{standing}"), face, 6));
            let inner = Rect { x: 3, y: 3, w: w - 6, h: h - 6 };
            out.put(rect("inner", inner, 4));
        }
        Shape::Gate => draw_diamond(out, cell, standing),
    }
    if card.standing != Standing::Valid && card.shape != Shape::Gate {
        let band = card.standing.word();
        let (at, tall) = if card.shape == Shape::Promotion { (5, h - 10) } else { (2, h - 4) };
        out.put(format_args!(
            "<rect fill=\"url(#h-{band})\" x=\"{at}\" y=\"{at}\" width=\"9\" height=\"{tall}\"/>"
        ));
    }
    if let Some(strip) = &card.strip {
        draw_strip(out, strip);
    }
    for line in &card.lines {
        draw_line(out, line);
    }
    out.put("</g>");
}

fn draw_diamond(out: &mut Out, cell: &Cell, standing: &str) {
    let Some(corners) = cell.diamond() else { return };
    let mut path = String::new();
    for (place, (x, y)) in corners.into_iter().enumerate() {
        let lead = if place == 0 { "M" } else { "L" };
        let _ = write!(path, "{lead}{} {}", x - cell.rect.x, y - cell.rect.y);
    }
    out.put(format_args!("<path class=\"gate{standing}\" d=\"{path}Z\"/>"));
    if cell.card.standing != Standing::Valid {
        // The hatching stays clear of the id in the middle.
        let band = cell.card.standing.word();
        let [(left, middle), (top_x, top), ..] = corners;
        let (x, y) = (left - cell.rect.x, middle - cell.rect.y);
        let (dx, dy) = ((top_x - left) * 2 / 5, (middle - top) * 2 / 5);
        out.put(format_args!("<path fill=\"url(#h-{band})\" d=\"M{x} {y}l{dx} -{dy}v{}z\"/>", 2 * dy));
    }
}

fn draw_strip(out: &mut Out, strip: &Strip) {
    let (x, y, end) = (strip.x, strip.y, strip.x + strip.w);
    out.put(format_args!("<path class=\"axis\" d=\"M{x} {y}H{end}\"/>"));
    if let Some(base) = strip.baseline {
        out.put(format_args!("<path class=\"base\" d=\"M{base} {}v18\"/>", y - 9));
    }
    for dot in &strip.dots {
        draw_dot(out, *dot);
    }
}

fn draw_dot(out: &mut Out, dot: Dot) {
    let Dot { x, y, mark } = dot;
    let round = |class: &str| format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"3.4\"/>");
    match mark {
        Mark::Counts => out.put(round("dot")),
        Mark::Tainted => out.put(round("dot-o")),
        Mark::Superseded => {
            out.put(rect("dot-s", Rect { x: x - 3, y: y - 3, w: 6, h: 6 }, 0));
        }
        Mark::Invalid => out.put(format_args!(
            "<path class=\"dot-x\" d=\"M{} {}l7 7m0 -7l-7 7\"/>",
            less_half(x),
            less_half(y)
        )),
    }
}

/// `value - 3.5` as text.
fn less_half(value: i32) -> String {
    format!("{}.5", value - 4)
}

fn draw_entry(out: &mut Out, entry: &Entry) {
    let Rect { x, y, .. } = entry.rect;
    let middle = y + 10;
    match entry.sign {
        Sign::Wire(kind) => {
            let points = vec![(x, middle), (x + SIGN_W, middle)];
            draw_wire(out, &Wire { kind, points });
        }
        Sign::Standing(standing) => {
            let box_ = Rect { x, y: y + 2, w: SIGN_W, h: 15 };
            out.put(rect(&format!("card{}", standing_class(standing)), box_, 3));
            if standing != Standing::Valid {
                let band = standing.word();
                out.put(format_args!(
                    "<rect fill=\"url(#h-{band})\" x=\"{}\" y=\"{}\" width=\"9\" height=\"11\"/>",
                    x + 2,
                    y + 4
                ));
            }
        }
        Sign::Dot(mark) => draw_dot(out, Dot { x: x + SIGN_W - 8, y: middle, mark }),
        Sign::Baseline => {
            out.put(format_args!("<path class=\"base\" d=\"M{} {}v18\"/>", x + SIGN_W - 8, middle - 9));
        }
        Sign::Words => {}
    }
    draw_line(out, &entry.line);
}
