//! What Linux tells about processes: children, CPU, memory.

use std::{fs, ops::Add, time::Duration};

use anyhow::{Context, Result};

/// The unit of CPU time in `/proc`: Linux shows hundredths of a second to programs on every architecture we build for.
const TICK: Duration = Duration::from_millis(10);

/// What a process holds of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// All of it that is in RAM, the program's own pages too.
    pub(crate) resident_mb: f64,
    /// What it allocated.
    pub(crate) anonymous_mb: f64,
}

impl Add for Memory {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            resident_mb: self.resident_mb + more.resident_mb,
            anonymous_mb: self.anonymous_mb + more.anonymous_mb,
        }
    }
}

/// The memory of a process.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let status = read(pid, "status")?;
    let megabytes = |field: &str| -> Result<f64> {
        let line =
            status.lines().find_map(|line| line.strip_prefix(field)).with_context(|| field.to_owned())?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes * 1024.0 / 1e6)
    };
    Ok(Memory { resident_mb: megabytes("VmRSS:")?, anonymous_mb: megabytes("RssAnon:")? })
}

/// The CPU time that all threads of a process have used, in user and kernel mode.
pub(crate) fn cpu(pid: u32) -> Result<Duration> {
    let stat = Stat::read(pid)?;
    Ok(TICK * (stat.number(USER)? + stat.number(SYSTEM)?))
}

/// The processes that a process has started, by number and name.
pub(crate) fn children(parent: u32) -> Result<Vec<(u32, String)>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").context("/proc: only Linux can be measured")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // It may have ended since the folder was read.
        let Ok(stat) = Stat::read(pid) else { continue };
        if stat.number(PARENT)? == parent {
            children.push((pid, stat.name));
        }
    }
    Ok(children)
}

/// What the machine is, and how busy: figures from a machine with other work mean little.
pub(crate) fn machine() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let model = model.trim_start_matches([' ', '\t', ':']);
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cores} cores ({model}), Linux {}, load before the run {load}", kernel.trim())
}

/// `/proc/PID/stat`: the name in brackets, which may hold anything, then numbers.
struct Stat {
    name: String,
    fields: Vec<String>,
}

// Counted from the field after the name.
const PARENT: usize = 1;
const USER: usize = 11;
const SYSTEM: usize = 12;

impl Stat {
    fn read(pid: u32) -> Result<Self> {
        Self::parse(&read(pid, "stat")?)
    }

    fn parse(text: &str) -> Result<Self> {
        let (before, after) = text.rsplit_once(") ").context("a stat must have a name")?;
        let (_, name) = before.split_once('(').context("a stat must have a name")?;
        Ok(Self { name: name.to_owned(), fields: after.split_whitespace().map(str::to_owned).collect() })
    }

    fn number(&self, field: usize) -> Result<u32> {
        self.fields.get(field).and_then(|field| field.parse().ok()).context("a stat must have its fields")
    }
}

fn read(pid: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).context(path)
}

#[cfg(test)]
mod tests {
    use super::{PARENT, SYSTEM, Stat, USER};

    #[test]
    fn stat_is_read_past_a_name_with_brackets() {
        let text = "42 (odd) (name)) S 7 42 42 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0 1 2 3";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(stat.name, "odd) (name)");
        assert_eq!([PARENT, USER, SYSTEM].map(|field| stat.number(field).unwrap()), [7, 150, 50]);
    }
}
