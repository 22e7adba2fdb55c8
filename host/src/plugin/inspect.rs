//! What a component is, before anything of it runs: its kind, and what it asks for.

use wasmtime::Engine;
use wasmtime::component::Component;

use super::Kind;
use super::error::LoadError;
use super::sandbox::ALLOWED_IMPORTS;

const KINDS: [Kind; 3] = [Kind::Renderer, Kind::Domain, Kind::Plan];

/// Checks that a component is of the wanted kind and imports nothing that it may not have.
pub fn inspect(engine: &Engine, component: &Component, wanted: Kind) -> Result<(), LoadError> {
    let ty = component.component_type();
    for (import, _) in ty.imports(engine) {
        if !ALLOWED_IMPORTS.iter().any(|allowed| import.starts_with(allowed)) {
            return Err(LoadError::ForbiddenImport { import: import.to_owned() });
        }
    }
    let exports: Vec<&str> = ty.exports(engine).map(|(name, _)| name).collect();
    let found = KINDS.into_iter().find(|kind| exports.contains(&kind.interface()));
    match found {
        Some(found) if found == wanted => Ok(()),
        Some(found) => Err(LoadError::WrongKind { wanted, found }),
        None if exports.is_empty() => Err(LoadError::NoKind { exports: "nothing".to_owned() }),
        None => Err(LoadError::NoKind { exports: exports.join(", ") }),
    }
}
