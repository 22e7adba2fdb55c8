//! `waxwing template types`: the data of templates as types, for the compilers of those who send them.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::authoring::contract::SenderContract;
use crate::authoring::contract::types::{TypeLanguage, TypedTemplate, types};
use crate::cli::error::CliError;
use crate::cli::open::Target;
use crate::cli::output::dump;
use crate::cli::plugin::{OnlineError, OnlineServer as Server};
use crate::id::AccountId;

/// Templates that one page of a list has.
const PAGE: &str = "200";

#[derive(Debug, Args)]
pub struct TypesCommand {
    /// For which compiler
    #[arg(long, value_enum)]
    lang: Lang,
    /// `acc_…`, of the store on this machine; without it the request goes to a running server, with the account's own --key
    #[arg(long)]
    account: Option<AccountId>,
    #[command(flatten)]
    server: Server,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Lang {
    /// TypeScript
    Ts,
    /// Python 3.11 or later
    Python,
}

impl TypesCommand {
    pub async fn run(self) -> Result<(), CliError> {
        let templates = match self.account {
            Some(account) => local(&Target::from(&self.server), account).await?,
            None => online(&self.server).await?,
        };
        let (word, language) = match self.lang {
            Lang::Ts => ("ts", TypeLanguage::TypeScript),
            Lang::Python => ("python", TypeLanguage::Python),
        };
        let code = types(templates, language);
        if self.server.output.is_json() {
            self.server.output.one(&json!({"lang": word, "code": code}), String::new);
        } else {
            dump(code.as_bytes());
        }
        Ok(())
    }
}

async fn local(target: &Target, id: AccountId) -> Result<Vec<TypedTemplate>, CliError> {
    let opened = target.open().await?;
    let account = opened.store.account(id, opened.clock.now()).await?.account;
    let versions = opened.store.templates(id).await?;
    let typed = versions.into_iter().map(|version| {
        let contract = SenderContract {
            slug: version.slug,
            revision: Some(version.revision),
            source: version.source,
            variables: version.variables,
            account_sender: None,
            brand: account.brand.clone(),
        };
        TypedTemplate { slug: contract.slug.to_string(), schema: contract.schema() }
    });
    Ok(typed.collect())
}

async fn online(server: &Server) -> Result<Vec<TypedTemplate>, OnlineError> {
    let connection = server.connect_as_holder()?;
    let mut templates = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut query = vec![("limit", PAGE.to_owned())];
        query.extend(after.take().map(|slug| ("after", slug)));
        let page = connection.get("/v1/templates", &query).await?;
        let rows = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        for row in rows.iter().filter(|row| row["state"] == "published") {
            let Some(slug) = row["slug"].as_str() else { continue };
            let schema = connection.get(&format!("/v1/templates/{slug}/schema"), &[]).await?;
            templates.push(TypedTemplate { slug: slug.to_owned(), schema });
        }
        let last = rows.last().and_then(|row| row["slug"].as_str());
        match (&page["hasMore"], last) {
            (Value::Bool(true), Some(last)) => after = Some(last.to_owned()),
            _ => return Ok(templates),
        }
    }
}
