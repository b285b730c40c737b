//! What the processes of a group hold in memory, and how much processor time they have used, from
//! `/proc`.

use std::{collections::BTreeMap, time::Duration};

/// The length of a tick of `/proc/PID/stat`, on every Linux there is.
const TICK: Duration = Duration::from_millis(10);
/// Memory is told in pages of this size on the machines this runs on.
const PAGE: u64 = 4096;

/// All processes of a group at one moment.
#[derive(Default)]
pub struct Group {
    /// Bytes in memory, by the name of the program.
    pub resident: BTreeMap<String, u64>,
    /// Processor time of all, of users and of the kernel.
    pub processor: Duration,
}

impl Group {
    /// Looks at the processes of a group; a shell that only looks after the others does not count.
    pub fn look(group: u32) -> Self {
        let mut found = Self::default();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
                continue;
            };
            // The name is in brackets and may hold anything.
            let (Some(open), Some(close)) = (stat.find('('), stat.rfind(')')) else {
                continue;
            };
            let name = &stat[open + 1..close];
            let fields: Vec<&str> = stat[close + 1..].split_whitespace().collect();
            let number = |index: usize| fields[index].parse::<u64>().unwrap_or(0);
            if number(2) != u64::from(group) || name == "sh" || number(21) == 0 {
                continue;
            }
            *found.resident.entry(name.to_owned()).or_default() += number(21) * PAGE;
            found.processor += TICK * u32::try_from(number(11) + number(12)).unwrap();
        }
        found
    }
}

/// The processor time of this process.
pub fn own() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..]
        .split_whitespace()
        .collect();
    let number = |index: usize| fields[index].parse::<u32>().unwrap();
    TICK * (number(11) + number(12))
}
