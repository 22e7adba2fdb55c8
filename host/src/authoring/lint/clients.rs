//! What the main mail clients do not show: the table of caniemail.com.

/// A CSS property, a property with a value, or an element that two or more of the main clients do not show.
#[derive(Debug)]
pub struct Unsupported {
    /// As in `position`, `display:flex`, or `<video>`.
    pub name: &'static str,
    pub clients: &'static str,
    /// Below caniemail.com/features.
    pub page: &'static str,
}

/// Made by `caniemail/table.mjs`: name, clients, page; sorted by name.
static TABLE: &str = include_str!("caniemail/table.txt");

/// The day of the data, in the table's first line.
pub fn date() -> &'static str {
    TABLE.lines().next().and_then(|it| it.rsplit(' ').next()).unwrap_or_default()
}

/// What the table says of a property (`gap`), of one with a value (`display:flex`), or of an element (`<video>`).
pub fn unsupported(name: &str) -> Option<Unsupported> {
    static ROWS: std::sync::LazyLock<Vec<Unsupported>> = std::sync::LazyLock::new(rows);
    let rows: &'static Vec<Unsupported> = &ROWS;
    let found = rows.binary_search_by(|it| it.name.cmp(name)).ok()?;
    let Unsupported { name, clients, page } = rows.get(found)?;
    Some(Unsupported { name, clients, page })
}

fn rows() -> Vec<Unsupported> {
    let row = |line: &'static str| {
        let mut cells = line.split('|');
        Some(Unsupported { name: cells.next()?, clients: cells.next()?, page: cells.next()? })
    };
    TABLE.lines().filter(|it| !it.starts_with('#')).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_dated_and_says_what_caniemail_says() {
        let rows = rows();
        assert!(rows.len() > 60 && rows.is_sorted_by(|one, two| one.name < two.name));
        assert_eq!(date().len(), 10);
        let position = unsupported("position").expect("Gmail has none");
        assert!(position.clients.contains("Gmail"), "{position:?}");
        assert!(unsupported("<video>").is_some() && unsupported("color").is_none());
    }
}
