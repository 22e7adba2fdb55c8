//! What was meant by a name that is nearly another one.

/// How alike two names are that one is taken for the other, of 1.
const ALIKE: f64 = 0.8;

/// The known name that is most like one that is not known, where one is like it.
pub fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |it: &str| strsim::jaro_winkler(unknown, it);
    let best = known.map(|it| (likeness(it), it)).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, it)| it)
}
