//! `waxwing account brand`.

use clap::Args;
use serde_json::json;

use super::super::error::CliError;
use super::super::open::Target;
use super::super::output::{note_act, text};
use crate::account::brand::{BrandChanges, BrandField};
use crate::api::shapes::Brand;
use crate::authoring;
use crate::id::AccountId;
use crate::management;

/// Show or change what the templates of an account are offered as defaults. A send's own data wins.
#[derive(Debug, Args)]
pub struct BrandCommand {
    /// `acc_…`
    id: AccountId,
    #[command(flatten)]
    values: Values,
    /// Clear a value, as in `--clear logo-url`
    #[arg(long, value_name = "NAME")]
    clear: Vec<String>,
    #[command(flatten)]
    target: Target,
}

/// The values of a brand.
#[derive(Debug, Args)]
pub struct Values {
    /// What recipients call the product
    #[arg(long)]
    product_name: Option<String>,
    /// Where the product is found, as in `https://example.com`
    #[arg(long, value_name = "URL")]
    product_url: Option<String>,
    /// Where recipients write to with questions
    #[arg(long, value_name = "ADDRESS")]
    support_email: Option<String>,
    /// The postal address, on one line
    #[arg(long, value_name = "LINE")]
    company_address: Option<String>,
    /// The colour of marks and buttons, as in #23695e; dark enough for white text
    #[arg(long, value_name = "COLOUR")]
    brand_color: Option<String>,
    /// A picture of the mark, as in `https://example.com/logo.png`
    #[arg(long, value_name = "URL")]
    logo_url: Option<String>,
}

impl Values {
    /// What they change, or what is wrong with all of them.
    pub fn changes(&self) -> Result<BrandChanges, CliError> {
        let mut changes = BrandChanges::default();
        let mut faults = Vec::new();
        for (field, value) in [
            (BrandField::ProductName, &self.product_name),
            (BrandField::ProductUrl, &self.product_url),
            (BrandField::SupportEmail, &self.support_email),
            (BrandField::CompanyAddress, &self.company_address),
            (BrandField::BrandColor, &self.brand_color),
            (BrandField::LogoUrl, &self.logo_url),
        ] {
            if let Some(value) = value
                && let Err(error) = changes.set(field, Some(value))
            {
                faults.push(format!("--{} {error}", field.option()));
            }
        }
        if faults.is_empty() { Ok(changes) } else { Err(CliError::Usage(faults.join("\n"))) }
    }
}

impl BrandCommand {
    pub async fn run(self) -> Result<(), CliError> {
        let mut changes = self.values.changes()?;
        for name in &self.clear {
            let field = BrandField::ALL.into_iter().find(|field| field.option() == *name);
            let field = field.ok_or_else(|| {
                let known = BrandField::ALL.map(BrandField::option).join(", ");
                CliError::Usage(format!("--clear {name} is not known; known are {known}"))
            })?;
            changes.set(field, None).map_err(|error| CliError::Usage(error.to_string()))?;
        }
        let opened = self.target.open().await?;
        let (store, now) = (&opened.store, opened.clock.now());
        let brand = if changes.is_empty() {
            store.account(self.id, now).await?.account.brand
        } else {
            let (kept, act) = management::brand::change(store, self.id, &changes, now).await?;
            note_act(act);
            kept
        };
        let mut shown = Brand::from(&brand);
        let warnings = authoring::brand::warnings(&brand);
        shown.warnings.clone_from(&warnings);
        let mut value = json!(shown);
        value["accountId"] = json!(self.id);
        self.target.output.one(&value, || {
            let line = |field: BrandField| {
                format!("{:16}  {}", field.option(), text(&value, field.member()))
            };
            let lines = BrandField::ALL.map(line).into_iter();
            let warned = warnings.iter().map(|it| format!("warning: {it}"));
            lines.chain(warned).collect::<Vec<_>>().join("\n")
        });
        Ok(())
    }
}
