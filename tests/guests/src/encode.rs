//! As much of WebAssembly's binary format as it takes to write a core module, and to put it into a
//! component that exists (core specification, chapter 5; component model, `Binary.md`).

/// A core module, section by section; the sections are in the order of their numbers.
pub struct Module(Vec<u8>);

impl Module {
    /// A module with one function type: no parameter, no result.
    pub fn new() -> Self {
        let mut module = Self(b"\0asm\x01\0\0\0".to_vec());
        module.section(1, &[1, 0x60, 0, 0]);
        module
    }

    /// Adds a section.
    pub fn section(&mut self, number: u8, content: &[u8]) {
        append(&mut self.0, number, content);
    }

    /// Adds that many functions of the one type, with the same code; every code says its locals.
    pub fn functions(&mut self, count: usize, code: &[u8]) -> Code {
        let mut types = leb128(count);
        types.resize(types.len() + count, 0);
        self.section(3, &types);
        let mut bodies = leb128(count);
        for _ in 0..count {
            bodies.extend(leb128(code.len()));
            bodies.extend(code);
        }
        Code(bodies)
    }

    /// Adds the code of the functions, which comes after the sections between.
    pub fn code(&mut self, code: &Code) {
        self.section(10, &code.0);
    }
}

/// The content of a code section.
pub struct Code(Vec<u8>);

/// The component, with a core module more, and an instance of it.
///
/// # Panics
/// It is not a component.
pub fn with_module(component: &[u8], module: &Module) -> Vec<u8> {
    let number = core_modules(component);
    let mut grown = component.to_vec();
    append(&mut grown, 1, &module.0);
    // One instance: made from that module, with no arguments.
    append(&mut grown, 2, &[vec![1, 0], leb128(number), vec![0]].concat());
    grown
}

/// How many core modules the component has itself; none of them may be an alias.
fn core_modules(component: &[u8]) -> usize {
    assert!(component.starts_with(b"\0asm\x0d\0\x01\0"), "this is no component");
    let mut rest = &component[8..];
    let mut modules = 0;
    while let Some((number, behind)) = rest.split_first() {
        let (length, bytes) = read_leb128(behind);
        modules += usize::from(*number == 1);
        rest = &behind[bytes + length..];
    }
    modules
}

fn append(to: &mut Vec<u8>, number: u8, content: &[u8]) {
    to.push(number);
    to.extend(leb128(content.len()));
    to.extend(content);
}

/// An unsigned number.
pub fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// An unsigned number, and how many bytes it takes.
fn read_leb128(bytes: &[u8]) -> (usize, usize) {
    let mut number = 0;
    for (index, byte) in bytes.iter().enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return (number, index + 1);
        }
    }
    (number, bytes.len())
}
