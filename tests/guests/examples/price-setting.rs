//! Good: the price is a setting, with a schema, and the reason says it.

#[path = "../kit/plan.rs"]
mod kit;

use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;
use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Manifest, fault};

use kit::{PlanPolicy, Plugin};

const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["price"],
  "properties": {
    "price": {
      "type": "integer",
      "minimum": 1,
      "maximum": 100,
      "description": "Credits for each recipient"
    }
  },
  "additionalProperties": false
}"#;

static PRICE: AtomicU32 = AtomicU32::new(0);

#[derive(Deserialize)]
struct Settings {
    price: u32,
}

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "price-setting";

    fn describe() -> Manifest {
        kit::manifest(Self::NAME, Self::VERSION, SCHEMA)
    }

    fn configure(settings: &str) -> Result<(), Vec<Diagnostic>> {
        let settings: Settings = serde_json::from_str(settings)
            .map_err(|error| vec![fault("settings", error.to_string())])?;
        PRICE.store(settings.price, Ordering::Relaxed);
        Ok(())
    }
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let price = PRICE.load(Ordering::Relaxed);
        let reason = format!("price {price}");
        Ok(uses.iter().map(|it| kit::allow(it, price, &reason)).collect())
    }
}

kit::export!(Guest);
