//! What processes use, from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// `sysconf(_SC_CLK_TCK)` is 100 on every Linux that runs this.
const TICK: Duration = Duration::from_millis(10);

/// Memory of one process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// In memory now.
    pub resident_kib: u64,
    /// Anonymous pages of `resident_kib`. The other pages are of files, nearly all of the program's own: the kernel can drop
    /// these at any time, and their number depends on how the kernel read the file.
    pub kib_without_files: u64,
    /// In memory at most, so far.
    pub peak_kib: u64,
}

/// Memory of many processes.
#[derive(Debug, Clone, Copy)]
pub struct Resident {
    /// With shared pages in each.
    pub own_kib: u64,
    /// With shared pages divided.
    pub divided_kib: u64,
}

/// One line of `/proc/<pid>/stat`.
struct Stat {
    pid: u32,
    parent: u32,
    /// Of the process.
    ticks: u32,
    /// Of its children that have ended, and of theirs.
    ended_ticks: u32,
}

/// CPU time, user and system, of these processes and all that descend from them, also of those
/// that have ended.
pub fn cpu(roots: &[u32]) -> io::Result<Duration> {
    let stats = stats()?;
    let tree = tree(&stats, roots);
    let of_tree = stats.iter().filter(|it| tree.contains(&it.pid));
    Ok(of_tree.map(|it| TICK * it.ticks + TICK * it.ended_ticks).sum())
}

/// Bytes that these processes and all that descend from them have had to write to disks, also those that
/// have ended.
///
/// `write_bytes` counts a page of a file when it becomes dirty, and `cancelled_write_bytes` one that went
/// away before it was written. So a page of the write-ahead log that two commits fill in part counts twice,
/// and a page of the database once at each checkpoint that brings it up to date: each is a write of the
/// disk, because a sync follows. `wchar` would count what goes to sockets, and a row of 30 bytes as 30.
/// The file system's own journal is not in it, and a directory in memory counts as nothing.
pub fn written(roots: &[u32]) -> io::Result<u64> {
    let mut sum = 0_u64;
    for pid in tree(&stats()?, roots) {
        match fs::read_to_string(format!("/proc/{pid}/io")) {
            Ok(text) => sum += written_by(&text),
            // It has ended since; its parent has its count.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let message = format!("what process {pid} writes cannot be read: {error}");
                return Err(io::Error::new(error.kind(), message));
            }
        }
    }
    Ok(sum)
}

fn written_by(io: &str) -> u64 {
    number(io, "write_bytes:").saturating_sub(number(io, "cancelled_write_bytes:"))
}

/// Tells a profiler which process is under load from now on.
pub fn tell(pid: u32, file: Option<&Path>) -> io::Result<()> {
    file.map_or(Ok(()), |file| fs::write(file, pid.to_string()))
}

/// CPU time of this process alone.
pub fn own_cpu() -> io::Result<Duration> {
    let stat = parse(std::process::id(), &fs::read_to_string("/proc/self/stat")?);
    Ok(stat.map_or(Duration::ZERO, |stat| TICK * stat.ticks))
}

/// Peak memory of these processes and all that descend from them, added up.
pub fn peak_kib(roots: &[u32]) -> io::Result<u64> {
    let tree = tree(&stats()?, roots);
    tree.into_iter().map(|pid| memory(pid).map(|it| it.peak_kib)).sum()
}

/// Memory of these processes and all that descend from them: what each has, added up, and what
/// each has if shared pages are divided among those that share them.
pub fn resident(roots: &[u32]) -> io::Result<Resident> {
    let mut sum = Resident { own_kib: 0, divided_kib: 0 };
    for pid in tree(&stats()?, roots) {
        // A process may have ended since.
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else { continue };
        sum.own_kib += number(&text, "Rss:");
        sum.divided_kib += number(&text, "Pss:");
    }
    if sum.own_kib == 0 {
        return Err(io::Error::other("the memory of the server cannot be read"));
    }
    Ok(sum)
}

/// Memory of one process.
pub fn memory(pid: u32) -> io::Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(Memory {
        resident_kib: number(&status, "VmRSS:"),
        kib_without_files: number(&status, "RssAnon:"),
        peak_kib: number(&status, "VmHWM:"),
    })
}

/// The number of the line that begins with this name; 0 where there is none.
fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn tree(stats: &[Stat], roots: &[u32]) -> BTreeSet<u32> {
    let mut tree: BTreeSet<u32> = roots.iter().copied().collect();
    loop {
        let before = tree.len();
        let children = stats.iter().filter(|it| tree.contains(&it.parent)).map(|it| it.pid);
        let children: Vec<u32> = children.collect();
        tree.extend(children);
        if tree.len() == before {
            return tree;
        }
    }
}

fn stats() -> io::Result<Vec<Stat>> {
    let mut stats = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // A process may have ended since the directory was read.
        let Ok(line) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        stats.extend(parse(pid, &line));
    }
    Ok(stats)
}

/// proc(5): fields 4 and 14 to 17; the name in field 2 may hold spaces and brackets.
fn parse(pid: u32, line: &str) -> Option<Stat> {
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u32>().ok();
    let both = |number: usize| field(number)?.checked_add(field(number + 1)?);
    Some(Stat { pid, parent: field(4)?, ticks: both(14)?, ended_ticks: both(16)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let line = "7 (a) b) S 3 7 7 0 -1 4194560 1 2 3 4 50 6 7 1 20 0";
        let stat = parse(7, line).expect("parsed");
        assert_eq!((stat.parent, stat.ticks, stat.ended_ticks), (3, 56, 8));
    }

    #[test]
    fn pages_that_never_reached_the_disk_are_not_written() {
        let io = "rchar: 5\nwchar: 7000\nsyscr: 1\nsyscw: 1\nread_bytes: 9\nwrite_bytes: 12288\n\
                  cancelled_write_bytes: 4096\n";
        assert_eq!(written_by(io), 8_192);
    }

    #[test]
    fn this_process_uses_memory() {
        let own = std::process::id();
        assert!(memory(own).expect("readable").peak_kib > 0);
        let resident = resident(&[own]).expect("readable");
        assert!(resident.divided_kib > 0 && resident.own_kib >= resident.divided_kib);
    }
}
