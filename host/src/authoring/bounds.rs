//! How much an author may write.

use std::time::Duration;

/// Bytes of one part of a template in one locale.
pub const MAX_PART_BYTES: usize = 512 << 10;
/// Bytes of all parts and texts of a template in all locales.
pub const MAX_SOURCE_BYTES: usize = 1 << 20;
/// Bytes of all examples of a template, as JSON.
pub const MAX_EXAMPLES_BYTES: usize = 512 << 10;
/// Bytes of the HTML that the MJML of a template is compiled to, in all locales.
pub const MAX_COMPILED_BYTES: usize = 4 << 20;
pub const MAX_LOCALES: usize = 50;
pub const MAX_EXAMPLES: usize = 64;
/// Partials of one version, with those that other partials call.
pub const MAX_PARTIALS: usize = 200;
/// Variables that a template reads or declares.
pub const MAX_VARIABLES: usize = 5_000;
/// Texts of one locale.
pub const MAX_MESSAGES: usize = 5_000;
/// Templates, layouts or partials of one owner.
pub const MAX_TEMPLATES: u32 = 5_000;
/// Templates that one layout or partial may touch when it is published.
pub const MAX_TOUCHED: u32 = 1_000;
/// Characters of a note, a name or a description.
pub const MAX_LINE: usize = 500;
/// Findings that are told of one template.
pub const MAX_FINDINGS: usize = 100;
/// Addresses that one test goes to.
pub const MAX_TEST_RECIPIENTS: usize = 10;
/// Bytes of one file of a folder.
pub const MAX_FILE_BYTES: usize = 2 << 20;
/// Bytes of a zip file of templates.
pub const MAX_ARCHIVE_BYTES: usize = 8 << 20;
/// Bytes of what is in one.
pub const MAX_UNPACKED_BYTES: usize = 32 << 20;
/// Files in one.
pub const MAX_ARCHIVE_FILES: usize = 20_000;
/// Archives that are read or made at one time; the others wait, and an account does one after another.
pub const MAX_PARALLEL_ARCHIVES: usize = 2;
/// How long an archive waits for others.
pub const ARCHIVE_WAIT: Duration = Duration::from_secs(30);
/// Templates, layouts and partials that one folder brings.
pub const MAX_IMPORTED: usize = 2_000;
