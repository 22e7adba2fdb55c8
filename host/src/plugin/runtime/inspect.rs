//! What a component is, before anything of it runs or is compiled: its kind, the version of the
//! interface that it was built for, and what it asks for.

use serde::Serialize;
use wasmparser::{Encoding, Parser, Payload};

use super::kind::Kind;
use super::sandbox::ALLOWED_IMPORTS;

/// The track of the interface that this server speaks.
pub const INTERFACE_VERSION: &str = "0.1";
const PACKAGE: &str = "waxwing:plugin/";

/// What a component's file says.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    pub kind: Kind,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
    /// Its sections, all levels together: name and bytes, largest first.
    pub sections: Vec<(String, usize)>,
}

/// Why a component is not one that this server takes.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// It does not begin as WebAssembly does.
    #[error(
        "the file is not WebAssembly: it has {bytes} bytes and does not begin with \\0asm; copy the \
         component that `waxwing plugin build` printed"
    )]
    NotWasm { bytes: usize },
    /// A module, not a component.
    #[error(
        "the file is a core WebAssembly module, not a component; build it for wasm32-wasip2, or make \
         a component of it with `wasm-tools component new`"
    )]
    CoreModule,
    /// It is truncated or damaged.
    #[error("the component is damaged at byte {offset}: {detail}; copy it again")]
    Broken {
        offset: usize,
        /// What is wrong there.
        detail: String,
    },
    /// It was built for another version of the interface.
    #[error(
        "the component was built for {interface}, and this server speaks version {} of the \
         interface: {}",
        INTERFACE_VERSION,
        advice(.version)
    )]
    Version {
        /// The interface, with its version.
        interface: String,
        version: String,
    },
    /// It exports more than one kind.
    #[error("a component is of one kind, and this one exports several: {exports}")]
    ManyKinds { exports: String },
    /// It exports none of the kinds.
    #[error(
        "the component exports no kind of plugin that this server knows (waxwing:plugin/renderer, \
         /domain-policy, /plan-policy or /mjml-compiler, version 0.1); it exports: {exports}"
    )]
    NoKind { exports: String },
    /// It asks for something that a plugin may not have.
    #[error(
        "the component imports {import}, and plugins have no files, sockets or clocks of their own; \
         build it without, or take what it needs from its call's context"
    )]
    ForbiddenImport { import: String },
}

/// Parses a component and checks that it is of one kind, of a version that this server speaks, and
/// imports nothing that it may not have.
pub fn inspect(wasm: &[u8]) -> Result<Inspection, InspectError> {
    let Surface { imports, exports, sections } = surface(wasm)?;
    for import in &imports {
        if !ALLOWED_IMPORTS.iter().any(|allowed| import.starts_with(allowed)) {
            return Err(match version(import) {
                Some(version) => other_version(import, version),
                None => InspectError::ForbiddenImport { import: import.clone() },
            });
        }
    }
    let kinds: Vec<(Kind, &String)> =
        exports.iter().filter_map(|export| Some((kind(export)?, export))).collect();
    let kind = match kinds.as_slice() {
        [(kind, export)] => match version(export) {
            Some(version) if !is_spoken(version) => return Err(other_version(export, version)),
            Some(_) | None => *kind,
        },
        [] if exports.is_empty() => {
            return Err(InspectError::NoKind { exports: "nothing".to_owned() });
        }
        [] => return Err(InspectError::NoKind { exports: exports.join(", ") }),
        [..] => return Err(InspectError::ManyKinds { exports: exports.join(", ") }),
    };
    Ok(Inspection { kind, imports, exports, sections })
}

/// The interfaces that a component asks for, allowed or not.
///
/// # Errors
/// It is no component, or a damaged one.
pub fn imports(wasm: &[u8]) -> Result<Vec<String>, InspectError> {
    let mut imports = surface(wasm)?.imports;
    imports.sort();
    Ok(imports)
}

struct Surface {
    imports: Vec<String>,
    exports: Vec<String>,
    sections: Vec<(String, usize)>,
}

fn surface(wasm: &[u8]) -> Result<Surface, InspectError> {
    if wasm.len() < 8 || !wasm.starts_with(b"\0asm") {
        return Err(InspectError::NotWasm { bytes: wasm.len() });
    }
    if Parser::is_core_wasm(wasm) {
        return Err(InspectError::CoreModule);
    }
    let broken = |error: wasmparser::BinaryReaderError| InspectError::Broken {
        offset: error.offset(),
        detail: error.message().to_owned(),
    };
    let mut surface = Surface { imports: Vec::new(), exports: Vec::new(), sections: Vec::new() };
    let mut open: Vec<Encoding> = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(broken)?;
        if let (Some((id, range)), Some(encoding)) = (payload.as_section(), open.last()) {
            count(&mut surface.sections, section_name(*encoding, id), range.len());
        }
        let depth = open.len();
        #[expect(clippy::wildcard_enum_match_arm, reason = "the other sections say no name")]
        match payload {
            Payload::Version { encoding, .. } => open.push(encoding),
            Payload::End(_) => drop(open.pop()),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    surface.imports.push(import.map_err(broken)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    surface.exports.push(export.map_err(broken)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    surface.sections.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(surface)
}

/// The word for a section of a core module or of a component; a component's nested modules and
/// components are counted by their own sections.
fn section_name(encoding: Encoding, id: u8) -> Option<&'static str> {
    match (encoding, id) {
        (_, 0) => Some("custom (names, producers)"),
        (Encoding::Module, 10) => Some("code"),
        (Encoding::Module, 11) => Some("data"),
        (Encoding::Module, _) => Some("types, functions, tables and the rest of core modules"),
        (Encoding::Component, 1 | 4) => None,
        (Encoding::Component, _) => Some("types, imports, exports and adapters of components"),
    }
}

fn count(sections: &mut Vec<(String, usize)>, name: Option<&str>, bytes: usize) {
    let Some(name) = name else { return };
    match sections.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => *sum += bytes,
        None => sections.push((name.to_owned(), bytes)),
    }
}

fn kind(export: &str) -> Option<Kind> {
    let name = export.split('@').next().unwrap_or(export);
    Kind::ALL.into_iter().find(|kind| kind.interface() == name)
}

/// The version of one of our own interfaces.
fn version(name: &str) -> Option<&str> {
    name.strip_prefix(PACKAGE)?.split_once('@').map(|(_, version)| version)
}

fn is_spoken(version: &str) -> bool {
    version.strip_prefix(INTERFACE_VERSION).is_some_and(|rest| rest.starts_with('.'))
}

fn other_version(interface: &str, version: &str) -> InspectError {
    InspectError::Version { interface: interface.to_owned(), version: version.to_owned() }
}

/// What to do about a component of another version.
fn advice(version: &str) -> &'static str {
    let minor = |text: &str| {
        let mut parts = text.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    };
    if minor(version) < minor(INTERFACE_VERSION) {
        "build the plugin with a newer SDK"
    } else {
        "upgrade the server, or build the plugin with the SDK that belongs to this server"
    }
}
