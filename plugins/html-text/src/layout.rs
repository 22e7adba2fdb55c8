//! White space of rendered text.

use crate::writer::{
    FRESH_LINE, ITEM, ITEM_END, LINE_END, LIST_END, NUMBER_END, ORDERED, PARAGRAPH, PRE, PRE_END,
    RULE, UNORDERED,
};

/// One line without control characters: runs of white space become one space.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !word.is_empty() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
    }
    out
}

/// Lines without white space around them, at most one empty line in a row, a newline at the end.
/// The marks of derived text become lines, numbers and indents.
#[must_use]
pub fn lines(text: &str) -> String {
    let mut layout = Layout::default();
    let mut rest = text;
    while let Some((at, mark)) = rest.char_indices().find(|(_, it)| is_mark(*it)) {
        let (before, after) = rest.split_at(at);
        layout.line.push_str(before);
        rest = after.strip_prefix(mark).unwrap_or_default();
        let mut number = None;
        if matches!(mark, ORDERED | ITEM)
            && let Some((argument, after)) = rest.split_once(NUMBER_END)
            && !argument.contains(is_mark)
        {
            number = argument.trim().parse().ok();
            rest = after;
        }
        layout.mark(mark, number);
    }
    layout.line.push_str(rest);
    layout.end_line(FRESH_LINE);
    layout.out
}

const fn is_mark(c: char) -> bool {
    matches!(c, '\n' | FRESH_LINE..=RULE)
}

/// Lists inside of each other; deeper ones are not indented further.
const MAX_LISTS: usize = 10;

const LINE_ACROSS: &str = "----------------------------------------";

/// Text that is laid out.
#[derive(Default)]
struct Layout {
    out: String,
    line: String,
    /// An empty line comes before the next one.
    apart: bool,
    /// Lines keep their spaces.
    pre: bool,
    lists: Vec<List>,
    /// Lists that are open beyond `MAX_LISTS`.
    deeper: usize,
    /// What the next line begins with, as the first one of an item.
    marker: Option<String>,
}

struct List {
    /// The number of the next item; `None` for one without numbers.
    next: Option<i64>,
    is_empty: bool,
    /// How far the lines of the item at hand are indented.
    width: usize,
}

impl Layout {
    fn mark(&mut self, mark: char, number: Option<i64>) {
        match mark {
            UNORDERED => self.open_list(None),
            ORDERED => self.open_list(Some(number.unwrap_or(1))),
            LIST_END => {
                self.end_item();
                match self.deeper.checked_sub(1) {
                    Some(deeper) => self.deeper = deeper,
                    None => drop(self.lists.pop()),
                }
            }
            ITEM => self.open_item(number),
            ITEM_END => self.end_item(),
            PRE | PRE_END => {
                self.end_line(PARAGRAPH);
                self.pre = mark == PRE;
            }
            RULE => {
                self.end_line(PARAGRAPH);
                self.line.push_str(LINE_ACROSS);
                self.end_line(PARAGRAPH);
            }
            NUMBER_END => {}
            end => self.end_line(end),
        }
    }

    fn open_list(&mut self, next: Option<i64>) {
        self.end_line(FRESH_LINE);
        if !self.lists.is_empty() {
            self.apart = false;
        }
        if self.lists.len() < MAX_LISTS {
            self.lists.push(List { next, is_empty: true, width: 0 });
        } else {
            self.deeper += 1;
        }
    }

    fn open_item(&mut self, number: Option<i64>) {
        self.end_item();
        let Some(list) = self.lists.last_mut() else {
            self.marker = Some("- ".to_owned());
            return;
        };
        // Items stand together, whatever they hold.
        self.apart &= list.is_empty;
        list.is_empty = false;
        let marker = match &mut list.next {
            None => "- ".to_owned(),
            Some(next) => {
                let number = number.unwrap_or(*next);
                *next = number.saturating_add(1);
                format!("{number}. ")
            }
        };
        list.width = marker.len();
        self.marker = Some(marker);
    }

    fn end_item(&mut self) {
        self.end_line(FRESH_LINE);
        self.marker = None;
        if let Some(list) = self.lists.last_mut() {
            list.width = 0;
        }
    }

    fn end_line(&mut self, end: char) {
        let line = std::mem::take(&mut self.line);
        let line = if self.pre { line.trim_end() } else { line.trim() };
        if line.is_empty() && self.marker.is_some() {
            return;
        }
        if !line.is_empty() {
            if self.apart && !self.out.is_empty() {
                self.out.push('\n');
            }
            let marker = self.marker.take().unwrap_or_default();
            let indent: usize = self.lists.iter().map(|it| it.width).sum();
            self.out.extend(std::iter::repeat_n(' ', indent.saturating_sub(marker.len())));
            self.out.push_str(&marker);
            self.out.push_str(line);
            self.out.push('\n');
        }
        let asks = match end {
            PARAGRAPH => true,
            LINE_END | '\n' => line.is_empty(),
            _ => false,
        };
        self.apart = asks || (self.apart && line.is_empty());
    }
}
