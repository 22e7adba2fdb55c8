//! Opens a store for a test: in a file, or on a server where the tests run on one.

use sqlx::{AssertSqlSafe, Connection as _};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::store::{Place, Store};

/// Opens the store of a directory: a file in it, or the database of its name where [`SERVER`] names a server.
pub async fn open(directory: &TempDir) -> Store {
    let place = match std::env::var(SERVER) {
        Ok(server) => Place::Server(database(&server, directory).await),
        Err(_) => Place::File(directory.path().join("test.db")),
    };
    Store::open(place).await.expect("opens")
}

/// The URL of a database of PostgreSQL, which may make others: the tests run on it then.
pub const SERVER: &str = "WAXWING_TEST_STORE";

/// The database that belongs to a directory, made from one that has all tables.
async fn database(server: &str, directory: &TempDir) -> String {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    let template = async || {
        let name = format!("template_{}", std::process::id());
        let url = create(server, &name, None).await;
        Store::open(Place::Server(url)).await.expect("opens").close().await;
        name
    };
    let template = TEMPLATE.get_or_init(template).await;
    let name = directory.path().file_name().expect("a name").to_string_lossy();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    create(server, &format!("of_{}_{name}", std::process::id()), Some(template)).await
}

/// Makes a database where it is not there yet, and answers its URL.
async fn create(server: &str, name: &str, template: Option<&str>) -> String {
    let mut connection = sqlx::PgConnection::connect(server).await.expect("it runs");
    let exists = sqlx::query("SELECT 1 FROM pg_database WHERE datname = $1").bind(name);
    if exists.fetch_optional(&mut connection).await.expect("readable").is_none() {
        let template = template.map(|it| format!(" TEMPLATE \"{it}\"")).unwrap_or_default();
        let create = AssertSqlSafe(format!("CREATE DATABASE \"{name}\"{template}"));
        sqlx::query(create).execute(&mut connection).await.expect("made");
    }
    let mut url = url::Url::parse(server).expect("a URL");
    url.set_path(name);
    url.into()
}
