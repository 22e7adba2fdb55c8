//! Swaps while the server sends: a new renderer and a new plan policy, over and over. Each file is
//! the built-in plugin with a custom section of its own, so that each is compiled and proven anew.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SLOTS: [(&str, &str); 2] = [
    ("plan-policy", "waxwing_plan_policy.wasm"),
    ("liquid-renderer", "waxwing_liquid_renderer.wasm"),
];
const BUILT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/plugins/wasm32-wasip2/plugin");

/// Puts files into a server's directory of plugins.
pub struct Swapper {
    directory: PathBuf,
    components: Vec<(&'static str, Vec<u8>)>,
    count: u32,
}

impl Swapper {
    /// Reads the built-in components that the server's build left.
    pub fn new(data: &Path) -> io::Result<Self> {
        let read = |(slot, file)| Ok((slot, std::fs::read(Path::new(BUILT).join(file))?));
        let components = SLOTS.into_iter().map(read).collect::<io::Result<_>>()?;
        Ok(Self { directory: data.join("plugins"), components, count: 0 })
    }

    /// Swaps one slot after the other, with pauses, for as long as it is polled.
    pub async fn run(&mut self, pause: Duration) -> io::Result<()> {
        loop {
            for (slot, component) in &self.components {
                self.count += 1;
                place(&self.directory, slot, &with_section(component, self.count))?;
                tokio::time::sleep(pause).await;
            }
        }
    }

    /// Swaps until now.
    pub fn count(&self) -> u32 {
        self.count
    }
}

fn place(directory: &Path, slot: &str, component: &[u8]) -> io::Result<()> {
    let partial = directory.join(format!(".{slot}.partial"));
    std::fs::write(&partial, component)?;
    std::fs::rename(partial, directory.join(format!("{slot}.wasm")))
}

/// A custom section: identifier 0, its size, its name, its content (WebAssembly core, 5.5.3).
fn with_section(component: &[u8], count: u32) -> Vec<u8> {
    let name = b"load";
    let mut bytes = component.to_vec();
    bytes.extend([0, 9, 4]);
    bytes.extend(name);
    bytes.extend(count.to_le_bytes());
    bytes
}
