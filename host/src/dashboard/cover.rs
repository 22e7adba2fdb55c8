//! What surrounds a page without the side bar: a page for guests, or the question for the password.

use super::assets;
use super::theme::Theme;

/// What the layout of such a page shows.
#[derive(Debug)]
pub struct Cover {
    pub style: String,
    pub theme: Theme,
}

impl From<Theme> for Cover {
    fn from(theme: Theme) -> Self {
        Self { style: assets::style(), theme }
    }
}
