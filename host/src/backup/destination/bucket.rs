//! A bucket of an S3-compatible object store.

use std::path::Path;
use std::sync::Arc;

use futures_util::StreamExt as _;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::{ClientConfigKey, ObjectStore as _, ObjectStoreExt as _, WriteMultipart};
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::backup::error::BackupError;
use crate::hexadecimal::hexadecimal;

/// Octets of a part of an upload: an object has up to 10,000 parts.
const PART_BYTES: usize = 16 << 20;
/// Parts that are under way at one time.
const MAX_PARALLEL_PARTS: usize = 4;
/// How long a request may take, with all that it carries, and how long it may be silent.
const REQUEST_TIME: &str = "6h";
const SILENCE: &str = "1m";

/// How the object store is reached. What is left out comes from the variables of the environment that other programs
/// read, as `AWS_ACCESS_KEY_ID`, or from the machine's own role.
#[derive(Clone, Default)]
pub struct ObjectStoreSettings {
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// The identifier of a key, and its secret.
    pub key: Option<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct Bucket {
    store: Arc<AmazonS3>,
    prefix: String,
    /// As it was given.
    shown: String,
}

impl Bucket {
    /// `path` is the name of the bucket, and a prefix behind a slash.
    pub fn new(
        shown: &str,
        path: &str,
        settings: &ObjectStoreSettings,
    ) -> Result<Self, BackupError> {
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if bucket.is_empty() {
            return Err(BackupError::Destination { to: shown.to_owned() });
        }
        let option = AmazonS3ConfigKey::Client;
        let mut builder = AmazonS3Builder::from_env()
            .with_config(option(ClientConfigKey::Timeout), REQUEST_TIME)
            .with_config(option(ClientConfigKey::ReadTimeout), SILENCE)
            .with_bucket_name(bucket);
        if let Some(endpoint) = &settings.endpoint {
            let is_plain = endpoint.starts_with("http://");
            builder = builder.with_endpoint(endpoint).with_allow_http(is_plain);
        }
        if let Some(region) = &settings.region {
            builder = builder.with_region(region);
        }
        if let Some((id, secret)) = &settings.key {
            builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        }
        let store = builder.build().map_err(refused(shown))?;
        let prefix = prefix.trim_matches('/').to_owned();
        Ok(Self { store: Arc::new(store), prefix, shown: shown.to_owned() })
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Uploads a file and reads it back.
    pub async fn put(&self, file: &Path, name: &str, sha256: &str) -> Result<(), BackupError> {
        let key = self.key(name);
        let upload = self.store.put_multipart(&key).await.map_err(self.refused())?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        if let Err(error) = self.send(file, &mut upload).await {
            // What was sent would cost its room. The error that counts is the first one.
            drop(upload.abort().await);
            return Err(error);
        }
        upload.finish().await.map_err(self.refused())?;
        let fault = match self.digest(&key).await {
            Ok(found) if found == sha256 => return Ok(()),
            Ok(_) => BackupError::NotKept { place: self.shown.clone() },
            Err(error) => error,
        };
        // It would count for `keep` and pass for the newest, and nobody knows whether it opens.
        if let Err(error) = self.delete(name).await {
            tracing::warn!(
                to = self.shown,
                backup = name,
                %error,
                "a backup that could not be read again cannot be deleted either; delete it by hand"
            );
        }
        Err(fault)
    }

    /// Downloads an object and answers its SHA-256 digest in hexadecimal digits.
    async fn digest(&self, key: &Key) -> Result<String, BackupError> {
        let mut digest = Sha256::new();
        let found = self.store.get(key).await.map_err(self.refused())?;
        let mut content = found.into_stream();
        while let Some(bytes) = content.next().await {
            digest.update(bytes.map_err(self.refused())?);
        }
        Ok(hexadecimal(&digest.finalize()))
    }

    async fn send(&self, file: &Path, upload: &mut WriteMultipart) -> Result<(), BackupError> {
        let at_file = || BackupError::at(file);
        let mut content = File::open(file).await.map_err(at_file())?;
        let mut buffer = vec![0; PART_BYTES];
        loop {
            let length = content.read(&mut buffer).await.map_err(at_file())?;
            if length == 0 {
                return Ok(());
            }
            upload.wait_for_capacity(MAX_PARALLEL_PARTS).await.map_err(self.refused())?;
            upload.write(&buffer[..length]);
        }
    }

    /// Names of the objects directly below the prefix.
    pub async fn names(&self) -> Result<Vec<String>, BackupError> {
        let prefix = Key::from(self.prefix.as_str());
        let found = self.store.list_with_delimiter(Some(&prefix)).await.map_err(self.refused())?;
        let names = found.objects.iter().filter_map(|it| it.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    pub async fn delete(&self, name: &str) -> Result<(), BackupError> {
        self.store.delete(&self.key(name)).await.map_err(self.refused())
    }

    /// Fetches an object into a new file.
    pub async fn get(&self, name: &str, file: &Path) -> Result<(), BackupError> {
        let at_file = || BackupError::at(file);
        let found = self.store.get(&self.key(name)).await.map_err(self.refused())?;
        let mut content = found.into_stream();
        let mut out = File::create_new(file).await.map_err(at_file())?;
        while let Some(bytes) = content.next().await {
            out.write_all(&bytes.map_err(self.refused())?).await.map_err(at_file())?;
        }
        out.flush().await.map_err(at_file())
    }

    fn key(&self, name: &str) -> Key {
        Key::from(format!("{}/{name}", self.prefix))
    }

    fn refused(&self) -> impl FnOnce(object_store::Error) -> BackupError + use<> {
        refused(&self.shown)
    }
}

fn refused(place: &str) -> impl FnOnce(object_store::Error) -> BackupError + use<> {
    let place = place.to_owned();
    move |source| BackupError::ObjectStore { place, source: Box::new(source) }
}

impl std::fmt::Debug for ObjectStoreSettings {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.key.as_ref().map(|(id, _)| id);
        f.debug_struct("ObjectStoreSettings")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("key", &id)
            .finish()
    }
}
