//! The settings that the server runs with.

use serde::Serialize;
use utoipa::ToSchema;

use super::from_row;
use super::page::{Listed, Page, PageDoc, WHOLE};
use crate::management::settings::Setting;

/// A key of the configuration.
#[derive(Serialize, ToSchema)]
pub struct ServerSetting {
    /// Its section, as in `delivery`.
    section: String,
    /// Its name there.
    key: String,
    /// Its value, as JSON where it is no text; no secret is shown.
    value: String,
    /// `default`, `configuration` for the file, or the variable of the environment that sets it.
    source: String,
}

pub type SettingList = Page<ServerSetting>;

from_row!(row: Setting => ServerSetting { section, key, value, source });

impl Listed for ServerSetting {
    const PAGE: PageDoc = PageDoc {
        name: "SettingList",
        about: "The settings that the server runs with.",
        data: "By section.",
        ..WHOLE
    };
}
