//! The filters: a table of names, how many arguments each takes, and its function.

#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "every filter has the one signature"
)]

mod array;
mod date;
mod encode;
mod html;
mod items;
mod math;
mod money;
mod number;
mod select;
mod strftime;
mod text;

pub use array::loop_items;
pub use html::{escape_into, is_text};
pub use items::items_of;
pub use math::DIVIDED_BY_0;
pub use number::{Number, saturating_integer};

use crate::filter::{Check, Filter, Function, Named, Run};

/// The filter of that name.
pub fn find(name: &str) -> Option<&'static Filter> {
    FILTERS.iter().find(|it| it.name == name)
}

/// The words "did you mean", where a filter has nearly that name.
pub fn hint(name: &str) -> String {
    let near = |it: &&Filter| {
        let same = it.name.chars().filter(|c| name.contains(*c)).count();
        let (a, b) = (it.name.len(), name.len());
        it.name.chars().next() == name.chars().next() && a.abs_diff(b) <= 1 && same + 1 >= a.min(b)
    };
    FILTERS
        .iter()
        .find(near)
        .map_or_else(String::new, |it| format!("; did you mean `{}`?", it.name))
}

const fn filter(name: &'static str, min: usize, max: usize, run: Function) -> Filter {
    let run = Run::Function(run);
    Filter { name, min, max, named: Named::These(&[]), run, check: |_| Ok(()) }
}

/// With a style and a time zone, by place or by name.
const fn of_time(name: &'static str, run: Function, check: Check) -> Filter {
    let named = Named::These(&["format", "timezone"]);
    Filter { named, check, ..filter(name, 0, 2, run) }
}

static FILTERS: [Filter; 74] = [
    filter("abs", 0, 0, math::abs),
    filter("append", 1, 1, text::append),
    filter("at_least", 1, 1, math::at_least),
    filter("at_most", 1, 1, math::at_most),
    filter("base64_decode", 0, 0, encode::base64_decode),
    filter("base64_encode", 0, 0, encode::base64_encode),
    filter("base64_url_safe_decode", 0, 0, encode::base64_url_safe_decode),
    filter("base64_url_safe_encode", 0, 0, encode::base64_url_safe_encode),
    filter("capitalize", 0, 0, text::capitalize),
    filter("ceil", 0, 0, math::ceil),
    filter("compact", 0, 1, array::compact),
    filter("concat", 1, 1, array::concat),
    filter("currency", 0, 1, money::currency),
    of_time("date", date::date, date::check_date),
    of_time("datetime", date::datetime, date::check_time),
    Filter { named: Named::These(&["allow_false"]), ..filter("default", 0, 1, text::default) },
    filter("divided_by", 1, 1, math::divided_by),
    filter("downcase", 0, 0, text::downcase),
    filter("escape", 0, 0, html::escape),
    filter("escape_once", 0, 0, html::escape_once),
    filter("find", 1, 2, select::find),
    filter("find_index", 1, 2, select::find_index),
    filter("first", 0, 0, array::first),
    filter("floor", 0, 0, math::floor),
    filter("h", 0, 0, html::escape),
    filter("has", 1, 2, select::has),
    filter("join", 0, 1, array::join),
    filter("json", 0, 0, encode::json),
    filter("last", 0, 0, array::last),
    filter("lstrip", 0, 0, text::lstrip),
    filter("map", 1, 1, array::map),
    filter("minus", 1, 1, math::minus),
    filter("modulo", 1, 1, math::modulo),
    filter("money", 0, 1, money::money),
    filter("money_with_currency", 0, 1, money::money_with_currency),
    filter("money_without_currency", 0, 1, money::money_without_currency),
    filter("newline_to_br", 0, 0, html::newline_to_br),
    filter("number", 0, 1, money::number),
    filter("percent", 0, 1, money::percent),
    filter("plus", 1, 1, math::plus),
    filter("prepend", 1, 1, text::prepend),
    filter("raw", 0, 0, html::raw),
    filter("reject", 1, 2, select::reject),
    filter("remove", 1, 1, text::remove),
    filter("remove_first", 1, 1, text::remove_first),
    filter("remove_last", 1, 1, text::remove_last),
    filter("replace", 1, 2, text::replace),
    filter("replace_first", 1, 2, text::replace_first),
    filter("replace_last", 2, 2, text::replace_last),
    filter("reverse", 0, 0, array::reverse),
    filter("round", 0, 1, math::round),
    filter("rstrip", 0, 0, text::rstrip),
    filter("safe", 0, 0, html::raw),
    filter("size", 0, 0, array::size),
    filter("slice", 1, 2, text::slice),
    filter("sort", 0, 1, array::sort),
    filter("sort_natural", 0, 1, array::sort_natural),
    filter("split", 1, 1, text::split),
    filter("squish", 0, 0, text::squish),
    filter("strip", 0, 0, text::strip),
    filter("strip_html", 0, 0, html::strip_html),
    filter("strip_newlines", 0, 0, text::strip_newlines),
    filter("sum", 0, 1, math::sum),
    Filter { name: "t", min: 0, max: 0, named: Named::Any, run: Run::Message, check: |_| Ok(()) },
    of_time("time", date::time, date::check_time),
    filter("times", 1, 1, math::times),
    filter("truncate", 0, 2, text::truncate),
    filter("truncatewords", 0, 2, text::truncatewords),
    filter("uniq", 0, 1, array::uniq),
    filter("upcase", 0, 0, text::upcase),
    filter("url_decode", 0, 0, encode::url_decode),
    filter("url_encode", 0, 0, encode::url_encode),
    filter("url_escape", 0, 0, encode::url_escape),
    filter("where", 1, 2, select::r#where),
];
