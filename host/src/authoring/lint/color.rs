//! Colours as templates write them, and how well one is read on another (WCAG 2.2, relative luminance).

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

/// The names that templates use for texts and backgrounds.
const NAMES: [(&str, Color); 12] = [
    ("black", Color(0, 0, 0)),
    ("white", Color(255, 255, 255)),
    ("gray", Color(128, 128, 128)),
    ("grey", Color(128, 128, 128)),
    ("silver", Color(192, 192, 192)),
    ("red", Color(255, 0, 0)),
    ("green", Color(0, 128, 0)),
    ("blue", Color(0, 0, 255)),
    ("navy", Color(0, 0, 128)),
    ("yellow", Color(255, 255, 0)),
    ("orange", Color(255, 165, 0)),
    ("purple", Color(128, 0, 128)),
];

impl Color {
    /// `#fff`, `#ffffff`, `rgb(1, 2, 3)` or a name.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if let Some(hex) = text.strip_prefix('#') {
            let digits: Vec<u8> =
                hex.chars().map(|it| it.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
            return match digits[..] {
                [r, g, b] => Some(Self(r * 17, g * 17, b * 17)),
                _ if digits.len() == 6 => {
                    let byte = |at: usize| digits[at] * 16 + digits[at + 1];
                    Some(Self(byte(0), byte(2), byte(4)))
                }
                _ => None,
            };
        }
        if let Some(inside) = text.strip_prefix("rgb(").and_then(|it| it.strip_suffix(')')) {
            let parts: Vec<u8> =
                inside.split(',').map(|it| it.trim().parse().ok()).collect::<Option<_>>()?;
            return if let [r, g, b] = parts[..] { Some(Self(r, g, b)) } else { None };
        }
        NAMES.iter().find(|(name, _)| *name == text).map(|(_, color)| *color)
    }

    /// Ten times the contrast of two colours: 10 for none, 210 for black on white.
    pub fn contrast(self, other: Self) -> u32 {
        let (one, two) = (self.luminance(), other.luminance());
        let (light, dark) = (one.max(two), one.min(two));
        (light + 500) * 10 / (dark + 500)
    }

    /// Relative luminance, of 10,000.
    fn luminance(self) -> u32 {
        let Self(r, g, b) = self;
        (2_126 * linear(r) + 7_152 * linear(g) + 722 * linear(b)) / 10_000
    }
}

/// The light of an sRGB value, of 10,000.
#[expect(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sRGB is defined by a power; the result is between 0 and 10,000"
)]
fn linear(value: u8) -> u32 {
    let value = f64::from(value) / 255.0;
    let light = if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
    (light * 10_000.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        let of =
            |one: &str, two: &str| Color::of(one).expect(one).contrast(Color::of(two).expect(two));
        assert_eq!(of("#000", "white"), 210);
        assert_eq!(of("#777777", "#FFF"), 44);
        assert_eq!(of("rgb(118, 118, 118)", "#fff"), 45);
        assert_eq!(of("red", "red"), 10);
        assert_eq!(Color::of("xxxxxx"), None);
        assert_eq!(Color::of("#12345"), None);
    }
}
