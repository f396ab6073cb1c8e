use proptest::prelude::*;

use super::card::{Anchor, Line, Shape};
use super::layout::{Cell, Picture, Rect, layout};
use super::text::width;
use super::*;
use crate::project::escape::is_unsafe;
use crate::project::lineage::sample::{Campaign, campaigns, flat, wine};

fn overlap(a: Rect, b: Rect) -> bool {
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

/// The box of a line of text by the width table, on a page where its card lies at `(x, y)`.
fn text_box(line: &Line, x: i32, y: i32) -> Rect {
    let w = width(&line.text, line.font, line.size);
    let left = match line.anchor {
        Anchor::Start => line.x,
        Anchor::Middle => line.x - w / 2,
        Anchor::End => line.x - w,
    };
    Rect { x: x + left, y: y + line.y - line.size * 4 / 5, w, h: line.size }
}

fn inside(a: Rect, b: Rect) -> bool {
    a.x >= b.x && a.y >= b.y && a.x + a.w <= b.x + b.w && a.y + a.h <= b.y + b.h
}

fn none_overlap(boxes: &[Rect], what: &str) {
    for (place, a) in boxes.iter().enumerate() {
        for b in &boxes[place + 1..] {
            assert!(!overlap(*a, *b), "{what}: {a:?} and {b:?}");
        }
    }
}

/// What no wire may touch: cards, and of gates the diamond's surroundings.
fn crosses(points: &[(i32, i32)], rect: Rect) -> bool {
    points.windows(2).any(|pair| {
        let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
        let segment =
            Rect { x: x1.min(x2), y: y1.min(y2), w: (x1 - x2).abs().max(1), h: (y1 - y2).abs().max(1) };
        let shrunk = Rect { x: rect.x + 1, y: rect.y + 1, w: rect.w - 2, h: rect.h - 2 };
        overlap(segment, shrunk)
    })
}

fn check(picture: &Picture) {
    let page = Rect { x: 0, y: 0, w: picture.width, h: picture.height };
    let cells: Vec<Rect> = picture.cells.iter().map(|cell| cell.rect).collect();
    none_overlap(&cells, "cards");
    none_overlap(&picture.lanes, "lanes");
    none_overlap(&picture.legend.iter().map(|entry| entry.rect).collect::<Vec<_>>(), "legend");
    assert!(picture.cells.iter().all(|cell| picture.lanes.iter().any(|lane| inside(cell.rect, *lane))));
    let mut texts: Vec<Rect> = picture.lines.iter().map(|line| text_box(line, 0, 0)).collect();
    texts.extend(picture.legend.iter().map(|entry| text_box(&entry.line, 0, 0)));
    for Cell { rect, card } in &picture.cells {
        let lines: Vec<Rect> = card.lines.iter().map(|line| text_box(line, rect.x, rect.y)).collect();
        for (line, text) in lines.iter().zip(&card.lines) {
            assert!(inside(*line, *rect), "{:?} leaves its card: {text:?}", card.shape);
        }
        none_overlap(&lines, &card.tooltip);
        if let Some(strip) = &card.strip {
            assert!(strip.dots.iter().all(|dot| dot.x >= strip.x && dot.x <= strip.x + strip.w));
            let dots = Rect { x: rect.x + strip.x - 3, y: rect.y + strip.y - 9, w: strip.w + 6, h: 18 };
            assert!(lines.iter().all(|line| !overlap(*line, dots)), "{}", card.tooltip);
        }
        texts.extend(lines);
    }
    none_overlap(&texts, "texts");
    assert!(texts.iter().all(|text| inside(*text, page)));
    for wire in &picture.wires {
        assert!(wire.points.windows(2).all(|pair| pair[0].0 <= pair[1].0), "runs back: {wire:?}");
        for cell in picture.cells.iter().filter(|cell| cell.card.shape != Shape::Gate) {
            assert!(!crosses(&wire.points, cell.rect), "{wire:?} crosses {}", cell.card.tooltip);
        }
        assert!(
            texts.iter().all(|text| text.w == 0 || !crosses(&wire.points, *text)),
            "{wire:?} crosses a text"
        );
    }
}

fn assert_well_formed(svg: &str) {
    assert!(!svg.chars().any(|c| c != '\n' && is_unsafe(c)));
    let (mut open, mut rest) = (Vec::new(), svg);
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>').unwrap();
        let tag = &rest[..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_overlaps_and_all_text_fits_whatever_the_campaign(c in campaigns(80)) {
        let graph = c.graph();
        check(&layout(&graph));
        let text = svg(&graph);
        assert_well_formed(&text);
        prop_assert_eq!(text, svg(&c.graph()));
    }
}

#[test]
fn the_sample_campaign_and_an_empty_ledger_are_pictures() {
    for graph in [wine(false).graph(), wine(true).graph(), flat().graph(), Campaign::default().graph()] {
        check(&layout(&graph));
        assert_well_formed(&svg(&graph));
    }
}

#[test]
fn a_lost_promotion_is_marked_by_hatching_word_and_border() {
    let text = svg(&wine(true).graph());
    for sign in ["promotion unsupported", "url(#h-unsupported)", ">unsupported</text>", "card tainted"] {
        assert!(text.contains(sign), "{sign}");
    }
}
