//! The one configured value of a plugin instance: guests are single-threaded and configured once.

use std::cell::OnceCell;

use crate::plugin::fault;
use crate::{Diagnostic, Failure, Plugin, panic, settings};

/// Holds the plugin between `configure` and every later call. Made by the export macros.
pub struct Instance<P>(OnceCell<P>);

impl<P: Plugin> Instance<P> {
    /// An instance that is not configured yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceCell::new())
    }

    /// The schema of the settings.
    #[must_use]
    pub fn describe(&self) -> String {
        panic::report_in_one_line();
        P::settings_schema()
    }

    /// Parses the settings and makes the plugin from them.
    ///
    /// # Errors
    /// The settings are not JSON of the plugin's own shape, the plugin refuses them, or it is
    /// configured already.
    pub fn configure(&self, settings: &str) -> Result<(), Vec<Diagnostic>> {
        panic::report_in_one_line();
        let settings = settings::parse(settings)?;
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
