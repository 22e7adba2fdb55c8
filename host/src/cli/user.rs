//! `waxwing user`: who logs in to the dashboard.

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::{Opened, Target};
use super::output::{note_act, text};
use crate::account::role::Role;
use crate::api::shapes::User;
use crate::id::{AccountId, UserId};
use crate::management::acts;
use crate::message::address::EmailAddress;
use crate::people::{MAX_USERS_PER_PAGE, NewMember, link_path};
use crate::store::{LinkPurpose, PersonRow};

/// Add, list and remove the people who use the dashboard; give roles; make links for those who lost a password.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add a user, and print the link with which the user chooses a password; it works once, for 7 days
    #[command(visible_aliases = ["create", "invite"])]
    Add {
        /// With which the user logs in
        #[arg(long)]
        email: EmailAddress,
        /// An account that the user works in, `acc_…`
        #[arg(long, requires = "role")]
        account: Option<AccountId>,
        /// What the user may do there: owner, member or read-only
        #[arg(long, requires = "account")]
        role: Option<Role>,
        /// The user manages the server
        #[arg(long)]
        operator: bool,
        #[command(flatten)]
        target: Target,
    },
    /// List all users with their roles
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Print a link with which a user chooses another password; it works once, for an hour
    Reset {
        email: EmailAddress,
        /// Remove the second factor now, for a user who has lost its device and the recovery codes
        #[arg(long)]
        factor: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Give a user a role in an account: owner, member or read-only; the last owner who can log in stays one
    Role {
        email: EmailAddress,
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        #[arg(long)]
        role: Role,
        #[command(flatten)]
        target: Target,
    },
    /// Remove a user and end all sessions of the user; not the last owner of an account who can log in
    Remove {
        email: EmailAddress,
        #[command(flatten)]
        target: Target,
    },
}

pub async fn run(command: UserCommand) -> Result<(), CliError> {
    match command {
        UserCommand::Add { email, account, role, operator, target } => {
            let opened = target.open().await?;
            let people = opened.people().await?;
            let membership = account.zip(role);
            let new = NewMember { email, membership, is_operator: operator };
            let act = new.act();
            let (id, link) = people.invite(new).await?;
            note_act(act);
            show_link(&opened, &target, id, &link_path(LinkPurpose::Invitation, &link));
            Ok(())
        }
        UserCommand::List { target } => {
            let opened = target.open().await?;
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let page = opened.store.users_after(after, MAX_USERS_PER_PAGE).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.id);
                for user in page {
                    all.push(view(&opened, &user).await?);
                }
            }
            target.output.list(&all, line);
            Ok(())
        }
        UserCommand::Reset { email, factor, target } => {
            let opened = target.open().await?;
            let (user, purpose, link) = opened.people().await?.reset(&email).await?;
            note_act(acts::reset_link_made(&user.email));
            if factor {
                opened.store.remove_factor(user.id).await?;
            }
            show_link(&opened, &target, user.id, &link_path(purpose, &link));
            Ok(())
        }
        UserCommand::Role { email, account, role, target } => {
            let opened = target.open().await?;
            let user = opened.people().await?.give_role(&email, account, role).await?;
            note_act(acts::role_given(account, &email, role));
            let value = view(&opened, &user).await?;
            target.output.one(&value, || line(&value));
            Ok(())
        }
        UserCommand::Remove { email, target } => {
            let opened = target.open().await?;
            let user = opened.people().await?.remove(&email).await?;
            note_act(acts::user_removed(&user.email));
            let value = json!({"id": user.id, "email": user.email.to_string(), "removed": true});
            target.output.one(&value, || format!("{}  {email}  removed", user.id));
            Ok(())
        }
    }
}

/// Without `people.url` the server does not know the name under which others reach it, so the link begins with its address
/// on this machine.
fn show_link(opened: &Opened, target: &Target, id: UserId, path: &str) {
    let link = opened.people_url().map(|url| format!("{url}{path}"));
    let value = json!({"id": id, "path": path, "url": link});
    target.output.one(&value, || match &link {
        Some(link) => format!("{id}\n{link}"),
        None => format!(
            "{id}\n{}{path}\n(for another machine: the https name of the server before the path, as in \
             https://mail.example.com{path}; with people.url in its configuration this command prints it)",
            opened.local_url()
        ),
    });
}

async fn view(opened: &Opened, user: &PersonRow) -> Result<Value, CliError> {
    let memberships = opened.store.memberships(user.id).await?;
    Ok(json!(User::new(user, memberships)))
}

fn line(value: &Value) -> String {
    let roles = value["roles"].as_array().into_iter().flatten();
    let role = |it: &Value| {
        let invited = if it["accepted"] == false { " (invited)" } else { "" };
        format!("{} of {}{invited}", text(it, "role"), text(it, "name"))
    };
    let roles: Vec<String> = roles.map(role).collect();
    let operator = if value["operator"] == true { "  operator" } else { "" };
    let pending = if value["hasPassword"] == true { "" } else { "  invited" };
    let factor = if value["hasFactor"] == true { "  second factor" } else { "" };
    format!(
        "{}  {}{operator}{pending}{factor}  {}",
        text(value, "id"),
        text(value, "email"),
        roles.join(", ")
    )
}
