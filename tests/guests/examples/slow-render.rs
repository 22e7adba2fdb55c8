//! Good but slow: counts after it has rendered, for about 60 ms; the setting `turns` says how far.

#[path = "../kit/renderer.rs"]
mod kit;

use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;
use waxwing_plugin::renderer::Output;
use waxwing_plugin::{CallContext, Diagnostic, Failure, fault};

use kit::{Plugin, Renderer};

static TURNS: AtomicU32 = AtomicU32::new(0);

#[derive(Deserialize)]
struct Settings {
    #[serde(default = "turns")]
    turns: u32,
}

fn turns() -> u32 {
    28_000_000
}

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "slow-render";

    fn configure(settings: &str) -> Result<(), Vec<Diagnostic>> {
        let settings: Settings = serde_json::from_str(settings)
            .map_err(|error| vec![fault("settings", error.to_string())])?;
        TURNS.store(settings.turns, Ordering::Relaxed);
        Ok(())
    }
}

impl Renderer for Guest {
    const MARK: &'static str = "[slow]";

    fn render(mail: &kit::Mail, _ctx: &CallContext, data: &str) -> Result<Output, Failure> {
        let output = mail.render(Self::MARK, data)?;
        let mut turn = 0;
        while std::hint::black_box(turn) < TURNS.load(Ordering::Relaxed) {
            turn += 1;
        }
        Ok(output)
    }
}

kit::export!(Guest);
