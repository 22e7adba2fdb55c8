//! Which configuration a command works with: the one that is named. Where none is named, and the current directory has no
//! data of a server, it is that of the installed server.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::config::{Config, ConfigError};

/// What `waxwing init` writes, and the service of the package reads.
const INSTALLED: &str = "/etc/waxwing/waxwing.toml";

/// The configuration, with a data directory that is named above it.
#[derive(Debug)]
pub struct Chosen {
    pub config: Config,
    /// None where only the environment says something.
    pub file: Option<PathBuf>,
}

/// Why there is no configuration to work with.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What another user writes there, the server could not read.
    #[error(
        "{data_dir} of {file} belongs to another user, that of the server: run the command as this user, \
         `runuser -u waxwing -- waxwing …`, or name another server's --config or --data-dir"
    )]
    OtherUser { data_dir: PathBuf, file: PathBuf },
}

/// Finds the configuration of a command with these options.
pub fn choose(file: Option<&Path>, data_dir: Option<&Path>) -> Result<Chosen, InstallationError> {
    let environment: Vec<(String, String)> = std::env::vars().collect();
    let user = rustix::process::geteuid().as_raw();
    choose_on(Path::new(INSTALLED), user, (file, data_dir), &environment)
}

fn choose_on(
    installed: &Path,
    user: u32,
    (file, data_dir): (Option<&Path>, Option<&Path>),
    environment: &[(String, String)],
) -> Result<Chosen, InstallationError> {
    let is_named = file.is_some() || data_dir.is_some();
    if !is_named && is_there(installed) {
        // Faults are told of what is used in the end.
        let here = Config::read(None, environment.iter().cloned())?.config.store.data_dir;
        if !here.exists() {
            return of_installed(installed, user, environment);
        }
    }
    let mut config = Config::load(file, environment.iter().cloned())?;
    if let Some(directory) = data_dir {
        directory.clone_into(&mut config.store.data_dir);
    }
    Ok(Chosen { config, file: file.map(Path::to_owned) })
}

fn of_installed(
    installed: &Path,
    user: u32,
    environment: &[(String, String)],
) -> Result<Chosen, InstallationError> {
    let config = Config::load(Some(installed), environment.iter().cloned())?;
    let data_dir = &config.store.data_dir;
    if std::fs::metadata(data_dir).is_ok_and(|it| it.uid() != user) {
        let (data_dir, file) = (data_dir.clone(), installed.to_owned());
        return Err(InstallationError::OtherUser { data_dir, file });
    }
    Ok(Chosen { config, file: Some(installed.to_owned()) })
}

/// Also where this user may not see it: to read it then says why not.
fn is_there(file: &Path) -> bool {
    !matches!(file.try_exists(), Ok(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with a configuration, and the variable that names a data directory in it.
    fn fixture(data_dir: &str) -> (tempfile::TempDir, PathBuf, Vec<(String, String)>) {
        let directory = tempfile::tempdir().expect("a directory");
        let installed = directory.path().join("waxwing.toml");
        std::fs::write(&installed, "[smtp]\nhostname = \"mail.example.net\"\n").expect("written");
        let data_dir = directory.path().join(data_dir).display().to_string();
        (directory, installed, vec![("WAXWING_STORE__DATA_DIR".to_owned(), data_dir)])
    }

    fn own_user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn a_command_that_names_no_server_works_with_the_installed_one() {
        let (directory, installed, environment) = fixture("nothing-here");
        let choose = |named| choose_on(&installed, own_user(), named, &environment).expect("valid");
        let chosen = choose((None, None));
        assert_eq!(chosen.file.as_deref(), Some(installed.as_path()));
        let hostname = chosen.config.smtp.hostname.map(|it| it.to_string());
        assert_eq!(hostname.as_deref(), Some("mail.example.net"));
        let named = choose((None, Some(directory.path())));
        assert_eq!((named.file, named.config.store.data_dir.as_path()), (None, directory.path()));
        std::fs::remove_file(&installed).expect("removed");
        assert_eq!(choose((None, None)).file, None);
    }

    #[test]
    fn a_data_directory_that_is_there_stands_above_the_installed_server() {
        let (_directory, installed, environment) = fixture("");
        let chosen = choose_on(&installed, own_user(), (None, None), &environment).expect("valid");
        assert_eq!(chosen.file, None);
    }

    #[test]
    fn another_user_than_the_servers_is_told_how_to_become_it() {
        let (directory, installed, _) = fixture("");
        let data_dir = directory.path().join("data");
        std::fs::create_dir(&data_dir).expect("a directory");
        let written = format!("[store]\ndata_dir = {:?}\n", data_dir.display().to_string());
        std::fs::write(&installed, written).expect("written");
        let of_user = |user| of_installed(&installed, user, &[]);
        assert!(of_user(own_user()).is_ok());
        let error = of_user(own_user() + 1).expect_err("refused").to_string();
        assert!(error.contains("`runuser -u waxwing -- waxwing …`"), "{error}");
    }
}
