//! `price-one` with a core module more: one that takes long to compile, or harms when it starts.

use crate::component;
use crate::encode::{Module, leb128, with_module};

const I32: u8 = 0x7f;
const LOCAL_GET: u8 = 0x20;
const LOCAL_SET: u8 = 0x21;
const I32_CONST: u8 = 0x41;
const END: u8 = 0x0b;

/// A good plan policy with that many functions that nobody calls: 8,000 are 7.8 MB, and take
/// Cranelift about two seconds on one core.
#[must_use]
pub fn big_slow(functions: usize) -> Vec<u8> {
    let locals = 8;
    let mut code = vec![1, locals, I32];
    for turn in 0..60 {
        let (from, to) = (turn % locals, (turn + 1) % locals);
        code.extend([LOCAL_GET, from, LOCAL_GET, to, I32_CONST, turn]);
        // `i32.mul`, `i32.xor`, then rotations and sums, so that little folds away.
        code.extend([0x6c, 0x73, LOCAL_GET, from, 0x77, LOCAL_GET, to, 0x6a, LOCAL_SET, to]);
    }
    code.push(END);
    let mut module = Module::new();
    let code = module.functions(functions, &code);
    module.code(&code);
    with_module(&component("price-one"), &module)
}

/// A good plan policy with one function more that nobody calls, with that many blocks: what its
/// compilation takes grows far faster than its size.
#[must_use]
pub fn many_blocks(blocks: usize) -> Vec<u8> {
    let locals = 8;
    let mut code = vec![1, locals, I32];
    for turn in 0..blocks {
        let (from, to) = (turn % 8, (turn + 3) % 8);
        let [from, to] = [from, to].map(|local| u8::try_from(local).unwrap_or_default());
        // `block`, `br_if 0` on one local, a sum into the other, `end`.
        code.extend([0x02, 0x40, LOCAL_GET, from, 0x0d, 0x00]);
        code.extend([LOCAL_GET, from, LOCAL_GET, to, 0x6a, LOCAL_SET, to, END]);
    }
    code.push(END);
    let mut module = Module::new();
    let code = module.functions(1, &code);
    module.code(&code);
    with_module(&component("price-one"), &module)
}

/// A plan policy that loops for ever before the first call can be made to it.
#[must_use]
pub fn endless_start() -> Vec<u8> {
    // `loop`, `br 0`, and both their ends.
    let forever = [0, 0x03, 0x40, 0x0c, 0x00, END, END];
    let mut module = Module::new();
    let code = module.functions(1, &forever);
    module.section(8, &leb128(0));
    module.code(&code);
    with_module(&component("price-one"), &module)
}

/// A plan policy that wants that many pages of 64 KiB before the first call can be made to it.
#[must_use]
pub fn greedy_start(pages: usize) -> Vec<u8> {
    let mut module = Module::new();
    module.section(5, &[vec![1, 0], leb128(pages)].concat());
    with_module(&component("price-one"), &module)
}
