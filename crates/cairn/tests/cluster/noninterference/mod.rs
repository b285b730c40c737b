//! Noninterference: whatever an attacker does in her own namespace, the victim in another has the
//! same objects, loses nothing, and is served as quickly as without her.

pub mod attacker;
pub mod victim;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testkit::Cluster;

use crate::processes::{MANAGED, defined, start_with};
use crate::registry::Registry;
use attacker::{ATTACKS, Attacker};
use victim::{Victim, same};

/// What an attacker may cost her victim, in processor time and in waiting.
const FACTOR: u32 = 2;
/// Less than this is noise of the machine and the clock: both share their processors with the
/// attacker's own work.
const NOISE: Duration = Duration::from_millis(200);
/// How often a repair is timed with and without each attack.
const REPAIRS: usize = 3;

pub async fn a_victim_is_served_alike_with_and_without_an_attacker(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let _turn = MANAGED.lock().await;
    let home = tempfile::tempdir()?;
    let story = story(&cluster, home.path()).await;
    let log = std::fs::read_to_string(home.path().join("log")).unwrap_or_default();
    let end: Vec<&str> = log.lines().rev().take(40).collect();
    story.with_context(|| {
        format!(
            "the end of the manager's log, last line first:\n{}",
            end.join("\n")
        )
    })
}

async fn story(cluster: &Cluster, home: &Path) -> Result<()> {
    let registry = Registry::start();
    std::fs::write(home.join("index.yaml"), "")?;
    // Growth has an end that is soon reached.
    let _manager = start_with(cluster, home, &["--instance-limits", "depth=4"])?;
    let quiet_scene = cluster.scene("quiet").await?;
    defined(&quiet_scene).await?;
    let mut quiet = Victim::start(&quiet_scene, &registry).await?;
    for _ in ATTACKS {
        quiet.change().await?;
        quiet.change().await?;
    }
    let (wanted, gone) = (quiet.belongings().await?, quiet.deletions().await?);
    ensure!(
        gone.is_empty(),
        "without an attacker something was deleted: {gone:?}"
    );

    let scene = cluster.scene("victim").await?;
    let corner = cluster.scene("attacker").await?;
    let mut victim = Victim::start(&scene, &registry).await?;
    let attacker = Attacker::enter(&corner, &registry, &scene).await?;
    let process = victim.process().await?;
    let (mut alone, mut attacked) = (Costs::default(), Costs::default());
    for attack in ATTACKS {
        let during = || format!("while the attacker {attack}");
        let begin = processor_time(process)?;
        victim.change().await?;
        alone.processor.push(processor_time(process)? - begin);
        alone.waits.push(repairs(&victim).await?);

        let begin = processor_time(process)?;
        let (tried, changed) = tokio::join!(attacker.attack(attack), victim.change());
        tried.and(changed).with_context(during)?;
        attacked.processor.push(processor_time(process)? - begin);
        attacked
            .waits
            .push(repairs(&victim).await.with_context(during)?);
        attacker.withdraw().await?;
        ensure!(
            victim.process().await? == process,
            "her controller was started again {}",
            during()
        );
    }
    same(&wanted, &victim.belongings().await?)?;
    let gone = victim.deletions().await?;
    ensure!(
        gone.is_empty(),
        "with an attacker something was deleted: {gone:?}"
    );
    for (index, attack) in ATTACKS.iter().enumerate() {
        for (what, alone, attacked) in [
            ("of processor time", &alone.processor, &attacked.processor),
            ("to repair", &alone.waits, &attacked.waits),
        ] {
            let (usual, now) = (median(alone.clone()), attacked[index]);
            println!("{now:?} {what} instead of {usual:?} while the attacker {attack}");
            ensure!(
                now <= usual * FACTOR + NOISE,
                "{now:?} {what} instead of {usual:?} while the attacker {attack}"
            );
        }
    }
    Ok(())
}

/// What serving the victim took, once for each attack.
#[derive(Default)]
struct Costs {
    /// Of her own controller, for one change of all her instances.
    processor: Vec<Duration>,
    /// Of the stack manager, until it has put back what was removed.
    waits: Vec<Duration>,
}

async fn repairs(victim: &Victim<'_>) -> Result<Duration> {
    let mut all = Vec::new();
    for _ in 0..REPAIRS {
        all.push(victim.repair().await?);
    }
    Ok(median(all))
}

/// What a process has used of the processors.
fn processor_time(id: u32) -> Result<Duration> {
    let path = format!("/proc/{id}/task");
    let mut all = 0;
    for task in std::fs::read_dir(&path).with_context(|| path.clone())? {
        let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        all += text
            .split(' ')
            .next()
            .and_then(|first| first.parse::<u64>().ok())
            .unwrap_or_default();
    }
    Ok(Duration::from_nanos(all))
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all.get(all.len() / 2).copied().unwrap_or_default()
}
