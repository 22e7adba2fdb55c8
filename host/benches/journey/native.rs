//! The yardstick: the `liquid` crate, natively, with the same template and the same data.
//!
//! It escapes nothing, keeps no limits and runs without a sandbox; the component does all three.

use std::hint::black_box;

use criterion::Criterion;
use liquid::model::{KString, Object, Value};
use liquid::{ParserBuilder, Template};
use serde_json::Value as Json;

use crate::sample;

pub fn render(criterion: &mut Criterion) {
    let parser = ParserBuilder::with_stdlib().build().expect("a parser");
    let parse = |text| parser.parse(text).expect("the sample parses");
    let parts: [Template; 3] = [sample::SUBJECT, sample::HTML, sample::TEXT].map(parse);
    let data = serde_json::to_string(&sample::data()).expect("JSON");
    criterion.bench_function("render 8 KiB and two parts, native liquid crate", |b| {
        b.iter(|| {
            let object = object(serde_json::from_str(&data).expect("JSON"));
            let render = |part: &Template| part.render(&object).expect("the sample renders");
            black_box(parts.each_ref().map(render))
        });
    });
    criterion.bench_function("parse 8 KiB, native liquid crate", |b| {
        b.iter(|| black_box(parse(sample::HTML)));
    });
}

fn object(map: serde_json::Map<String, Json>) -> Object {
    map.into_iter().map(|(key, item)| (KString::from_string(key), value(item))).collect()
}

/// By hand: the crate's own conversion through serde costs more than the render.
fn value(json: Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => Value::scalar(bool),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::scalar(integer),
            None => Value::scalar(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::scalar(text),
        Json::Array(items) => Value::Array(items.into_iter().map(value).collect()),
        Json::Object(map) => Value::Object(object(map)),
    }
}
