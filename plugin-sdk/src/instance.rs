//! The one configured value of a plugin instance: guests are single-threaded and configured once.

use std::cell::OnceCell;

use serde::de::DeserializeOwned;

use crate::plugin::fault;
use crate::{Diagnostic, Failure, Plugin};

/// Holds the plugin between `configure` and every later call. Made by the export macros.
pub struct Instance<P>(OnceCell<P>);

impl<P: Plugin> Instance<P> {
    /// An instance that is not configured yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceCell::new())
    }

    /// Parses the settings and makes the plugin from them.
    ///
    /// # Errors
    /// The settings are not JSON of the plugin's own shape, the plugin refuses them, or it is
    /// configured already.
    pub fn configure(&self, settings: &str) -> Result<(), Vec<Diagnostic>> {
        let settings = parse_settings(settings)?;
        self.0
            .set(P::configure(settings)?)
            .map_err(|_| vec![fault("configured_twice", "an instance is configured only once")])
    }

    /// The plugin.
    ///
    /// # Errors
    /// The host called it before `configure`.
    pub fn configured(&self) -> Result<&P, Failure> {
        self.0.get().ok_or_else(|| Failure::Internal("called before `configure`".to_owned()))
    }
}

impl<P: Plugin> Default for Instance<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Settings from their JSON text; the fault has the position at which the text went wrong.
pub(crate) fn parse_settings<S: DeserializeOwned>(settings: &str) -> Result<S, Vec<Diagnostic>> {
    serde_json::from_str(settings).map_err(|error| {
        let line = u32::try_from(error.line()).unwrap_or(0);
        let column = u32::try_from(error.column()).unwrap_or(0);
        vec![Diagnostic { line, column, ..fault("settings", error.to_string()) }]
    })
}
