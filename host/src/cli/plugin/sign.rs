//! `waxwing plugin keygen`, `sign` and `verify`: Ed25519 over a component's digest.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::super::output::Output;
use super::error::ToolError;
use super::project::{artifact, text};
use crate::plugin::signature::{PublicKey, SecretKey, verify};
use crate::private_file;

/// Signing needs no limit that a server has; this one keeps memory bounded.
const MAX_COMPONENT_BYTES: u64 = 256 << 20;
/// What a secret key begins with.
const SECRET: &str = "wxsec_";

/// Make a key that signs components
#[derive(Debug, Args)]
#[command(after_help = "Example:
  waxwing plugin keygen --out release.key

The secret key goes into the file, which only you can read; keep it where components are released,
not where servers run. The public key is printed. Give it to your servers, and say what they do with
components that it did not sign (off, warn or require):

  [plugins]
  signatures = \"require\"
  trusted_keys = [\"wxpub_…\"]")]
pub struct Keygen {
    /// The file for the secret key; nothing is overwritten
    #[arg(long, value_name = "FILE", default_value = "waxwing-plugin.key")]
    out: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// Sign a component
#[derive(Debug, Args)]
#[command(after_help = "Example:
  waxwing plugin sign prices.wasm --key release.key
  waxwing plugin install prices.wasm --slot plan-policy

The signature goes into prices.sig. `waxwing plugin install` uploads it too; when copying by hand,
copy the .sig first.")]
pub struct Sign {
    /// The component
    component: PathBuf,
    /// The file of the secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// Check the signature of a component
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin verify prices.wasm --key wxpub_…
  waxwing plugin verify prices.wasm --key release.pub     a file with the public key

The exit code is 1 if the signature is missing, is not by that key, or is for another component.")]
pub struct Verify {
    /// The component
    component: PathBuf,
    /// The public key, or a file with it
    #[arg(long, value_name = "KEY")]
    key: String,
    /// The signature [default: the .sig file beside the component]
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Makes a key.
pub fn keygen(keygen: &Keygen) -> Result<(), ToolError> {
    let (key, secret) = SecretKey::generate()?;
    let path = &keygen.out;
    write_secret(path, &secret).map_err(|source| {
        let (is_there, path) = (source.kind() == io::ErrorKind::AlreadyExists, path.clone());
        if is_there { ToolError::KeyExists { path } } else { ToolError::Write { path, source } }
    })?;
    let public = key.public();
    let value = json!({"file": path.display().to_string(), "publicKey": public});
    keygen
        .output
        .one(&value, || format!("{}: secret key (keep it private)\n{public}", path.display()));
    Ok(())
}

/// Signs a component.
pub fn sign(sign: &Sign) -> Result<(), ToolError> {
    let key = SecretKey::read(&text(&sign.key)?)?;
    let component = artifact(&sign.component, MAX_COMPONENT_BYTES)?;
    let signature = key.sign(&component);
    let path = sign.component.with_extension("sig");
    std::fs::write(&path, format!("{signature}\n")).map_err(ToolError::write(&path))?;
    let value = json!({
        "file": path.display().to_string(),
        "signature": signature,
        "digest": component.digest(),
        "publicKey": key.public(),
    });
    sign.output.one(&value, || {
        let (path, digest, public) = (path.display(), component.digest(), key.public());
        format!("{path}: {digest}\nsigned by {public}")
    });
    Ok(())
}

/// Checks a signature.
pub fn verify_command(args: &Verify) -> Result<(), ToolError> {
    let key = public_key(&args.key)?;
    let component = artifact(&args.component, MAX_COMPONENT_BYTES)?;
    let beside = args.component.with_extension("sig");
    let signature = match &args.signature {
        Some(file) => Some(text(file)?),
        None if beside.exists() => Some(text(&beside)?),
        None => None,
    };
    verify(&component, signature.as_deref(), &[key])?;
    let value = json!({"ok": true, "digest": component.digest()});
    args.output.one(&value, || format!("valid signature by this key: {}", component.digest()));
    Ok(())
}

/// A public key, a file with one, or the file of the secret key that it belongs to.
fn public_key(given: &str) -> Result<PublicKey, ToolError> {
    let path = Path::new(given);
    let key = if path.is_file() { text(path)? } else { given.to_owned() };
    if path.is_file() && key.trim_start().starts_with(SECRET) {
        return Ok(PublicKey::read(&SecretKey::read(&key)?.public())?);
    }
    Ok(PublicKey::read(&key)?)
}

/// Never over another file, and never readable by others, not even for a moment.
fn write_secret(path: &Path, secret: &str) -> io::Result<()> {
    let mut file = private_file::options().create_new(true).open(path)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_key_is_a_text_a_file_or_the_secret_keys_file() {
        let dir = tempfile::tempdir().unwrap();
        let (key, secret) = SecretKey::generate().unwrap();
        let public = PublicKey::read(&key.public()).unwrap();
        let (pub_file, key_file) = (dir.path().join("x.pub"), dir.path().join("x.key"));
        std::fs::write(&pub_file, format!("{}\n", key.public())).unwrap();
        write_secret(&key_file, &secret).unwrap();
        for given in [key.public().as_str(), pub_file.to_str().unwrap(), key_file.to_str().unwrap()]
        {
            assert_eq!(public_key(given).unwrap(), public, "{given}");
        }
        assert!(public_key(&secret).is_err(), "a secret is no argument");
    }

    #[test]
    fn a_secret_key_is_for_its_owner_and_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.key");
        write_secret(&path, "one").unwrap();
        let error = write_secret(&path, "two").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
