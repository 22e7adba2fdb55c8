//! Colours as templates write them, and how well one is read on another (WCAG 2.2, relative luminance).

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// A colour of CSS that nothing shines through: a name, `#fff`, `rgb(1, 2, 3)`, `hsl(0 0% 20%)` and the like.
    pub fn of(text: &str) -> Option<Self> {
        Self::over(text, None)
    }

    /// A colour of CSS as it is seen over another one, which may shine through it: `rgba(0, 0, 0, 0.5)`, `#0008`. What
    /// cannot be seen at all has none.
    pub fn over(text: &str, below: Option<Self>) -> Option<Self> {
        let [r, g, b, alpha] = csscolorparser::parse(text.trim()).ok()?.to_rgba8();
        match (alpha, below) {
            (u8::MAX, _) => Some(Self(r, g, b)),
            (0, _) | (_, None) => None,
            (_, Some(Self(below_r, below_g, below_b))) => Some(Self(
                blended(r, below_r, alpha),
                blended(g, below_g, alpha),
                blended(b, below_b, alpha),
            )),
        }
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

/// A value over another one, as opaque as `alpha` says, of 255.
fn blended(above: u8, below: u8, alpha: u8) -> u8 {
    let (above, below, alpha) = (u32::from(above), u32::from(below), u32::from(alpha));
    let full = u32::from(u8::MAX);
    let value = (above * alpha + below * (full - alpha) + full / 2) / full;
    u8::try_from(value).unwrap_or(u8::MAX)
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
        assert_eq!(of("hsl(0 0% 46.3%)", "#FFF"), 45);
        assert_eq!(of("hsl(0, 0%, 100%)", "rebeccapurple"), 84);
        for text in ["xxxxxx", "#12345", "inherit", "transparent", "rgba(0, 0, 0, 0.5)", "url(a)"] {
            assert_eq!(Color::of(text), None, "{text}");
        }
        let white = Some(Color(255, 255, 255));
        assert_eq!(Color::over("rgba(0, 0, 0, 0.2)", white), Some(Color(204, 204, 204)));
        assert_eq!(Color::over("#f00", white), Some(Color(255, 0, 0)));
        assert_eq!(Color::over("transparent", white), None);
    }
}
