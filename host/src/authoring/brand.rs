//! Lints a brand: warns of a colour on which white button text has too little contrast (WCAG 2.2).

use super::lint::color::Color;
use crate::account::brand::{Brand, BrandField};

const WHITE: Color = Color(255, 255, 255);
/// The least contrast ratio of text, 4.5:1 (WCAG 2.2 success criterion 1.4.3), in tenths.
const MIN_CONTRAST_TENTHS: u32 = 45;

/// Warns of values that are valid but spoil the mail, with a remedy. The text of a button is white on the brand's
/// colour in every starter.
#[must_use]
pub fn warnings(brand: &Brand) -> Vec<String> {
    let color = brand.value(BrandField::BrandColor);
    let contrast = color.and_then(Color::of).map(|it| it.contrast(WHITE));
    match (color, contrast) {
        (Some(color), Some(contrast)) if contrast < MIN_CONTRAST_TENTHS => vec![format!(
            "the colour {color} has a contrast of {}.{}:1 with white, and WCAG asks for {}.{}:1: the text of buttons \
             cannot be read; choose a darker colour",
            contrast / 10,
            contrast % 10,
            MIN_CONTRAST_TENTHS / 10,
            MIN_CONTRAST_TENTHS % 10
        )],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::brand::BrandChanges;

    #[test]
    fn a_colour_on_which_white_cannot_be_read_is_warned_of() {
        for (color, is_warned) in [
            ("#ffffff", true),
            ("#fff", true),
            ("#abcdef", true),
            ("#23695e", false),
            ("#000", false),
        ] {
            let mut changes = BrandChanges::default();
            changes.set(BrandField::BrandColor, Some(color)).expect("a colour");
            let values = changes.iter().filter_map(|(field, it)| Some((field, it?.to_owned())));
            let warnings = warnings(&Brand::stored(values.collect()));
            assert_eq!(!warnings.is_empty(), is_warned, "{color}: {warnings:?}");
        }
        assert_eq!(warnings(&Brand::default()), Vec::<String>::new());
    }
}
