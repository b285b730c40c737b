//! Jobs that wait for their turn, fairly between namespaces: each has a limit of its own and takes
//! turns with the others, so that one with many slow jobs holds up nobody else's.

use std::collections::{BTreeMap, VecDeque};

/// How many jobs run at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) all: usize,
    pub(crate) per_share: usize,
    pub(crate) per_host: usize,
}

/// What a job counts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The namespace; empty for the whole cluster.
    pub(crate) share: String,
    /// The registry; empty if there is none.
    pub(crate) host: String,
}

/// Jobs that wait, and how many run.
#[derive(Debug)]
pub(crate) struct Lanes<J> {
    width: Width,
    /// By share; none is empty.
    waiting: BTreeMap<String, VecDeque<(String, J)>>,
    /// The same shares; the first is next.
    turns: VecDeque<String>,
    by_share: BTreeMap<String, usize>,
    by_host: BTreeMap<String, usize>,
    running: usize,
}

impl<J> Lanes<J> {
    pub(crate) fn new(width: Width) -> Self {
        Self {
            width,
            waiting: BTreeMap::new(),
            turns: VecDeque::new(),
            by_share: BTreeMap::new(),
            by_host: BTreeMap::new(),
            running: 0,
        }
    }

    pub(crate) fn push(&mut self, lane: Lane, job: J) {
        let Lane { share, host } = lane;
        if !self.waiting.contains_key(&share) {
            self.turns.push_back(share.clone());
        }
        self.waiting
            .entry(share)
            .or_default()
            .push_back((host, job));
    }

    /// The next job that may run, if there is one: of the next share that may run more, the first
    /// whose host may.
    pub(crate) fn next(&mut self) -> Option<(Lane, J)> {
        if self.running >= self.width.all {
            return None;
        }
        let (turn, place) = self.turns.iter().enumerate().find_map(|(turn, share)| {
            let busy = self.by_share.get(share).copied().unwrap_or_default();
            let fits = |(host, _): &(String, J)| {
                host.is_empty()
                    || self
                        .by_host
                        .get(host)
                        .is_none_or(|count| *count < self.width.per_host)
            };
            let place = self.waiting.get(share)?.iter().position(fits)?;
            (busy < self.width.per_share).then_some((turn, place))
        })?;
        let share = self.turns.remove(turn)?;
        let waiting = self.waiting.get_mut(&share)?;
        let (host, job) = waiting.remove(place)?;
        if waiting.is_empty() {
            self.waiting.remove(&share);
        } else {
            self.turns.push_back(share.clone());
        }
        self.running += 1;
        *self.by_share.entry(share.clone()).or_default() += 1;
        *self.by_host.entry(host.clone()).or_default() += 1;
        Some((Lane { share, host }, job))
    }

    /// A job of a lane has ended.
    pub(crate) fn leave(&mut self, lane: &Lane) {
        self.running = self.running.saturating_sub(1);
        self.drop_host(&lane.host);
        if let Some(count) = self.by_share.get_mut(&lane.share) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_share.remove(&lane.share);
            }
        }
    }

    /// A job has no more to do with its host, and goes on for its share.
    pub(crate) fn leave_host(&mut self, lane: &mut Lane) {
        let host = std::mem::take(&mut lane.host);
        // Jobs without a host count as well, so that leaving works the same for all.
        *self.by_host.entry(String::new()).or_default() += 1;
        self.drop_host(&host);
    }

    fn drop_host(&mut self, host: &str) {
        if let Some(count) = self.by_host.get_mut(host) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_host.remove(host);
            }
        }
    }

    /// Takes jobs back that have not begun.
    pub(crate) fn remove(&mut self, gone: impl Fn(&J) -> bool) {
        self.waiting
            .values_mut()
            .for_each(|jobs| jobs.retain(|(_, job)| !gone(job)));
        self.waiting.retain(|_, jobs| !jobs.is_empty());
        self.turns.retain(|share| self.waiting.contains_key(share));
    }

    /// How many wait, and how many run.
    pub(crate) fn depth(&self) -> (usize, usize) {
        (self.waiting.values().map(VecDeque::len).sum(), self.running)
    }
}

#[cfg(test)]
mod tests {
    use testkit::variants;

    use super::{Lane, Lanes, Width};

    fn lane(share: &str, host: &str) -> Lane {
        Lane {
            share: share.into(),
            host: host.into(),
        }
    }

    #[test]
    fn a_namespace_with_many_slow_jobs_leaves_room_for_others() {
        let mut lanes = Lanes::new(Width {
            all: 8,
            per_share: 4,
            per_host: 6,
        });
        (0..50).for_each(|number| lanes.push(lane("attacker", "slow"), format!("slow {number}")));
        let started: Vec<String> = std::iter::from_fn(|| lanes.next())
            .map(|(_, job)| job)
            .collect();
        assert_eq!(started, ["slow 0", "slow 1", "slow 2", "slow 3"]);
        lanes.push(lane("victim", "fast"), "fast".to_owned());
        lanes.push(lane("", "fast"), "cluster".to_owned());
        assert_eq!(lanes.next().unwrap().1, "fast");
        assert_eq!(lanes.next().unwrap().1, "cluster");
        assert_eq!(lanes.next(), None);
        lanes.leave(&lane("attacker", "slow"));
        assert_eq!(lanes.next().unwrap().1, "slow 4");
        assert_eq!(lanes.depth(), (45, 6));
        lanes.remove(|job| job.starts_with("slow"));
        assert_eq!(lanes.depth(), (0, 6));
    }

    #[test]
    fn a_host_that_is_slow_holds_up_no_other_host_of_the_same_namespace() {
        let mut lanes = Lanes::new(Width {
            all: 8,
            per_share: 4,
            per_host: 1,
        });
        for (host, job) in [("slow", 1), ("slow", 2), ("fast", 3)] {
            lanes.push(lane("team", host), job);
        }
        assert_eq!(lanes.next().unwrap().1, 1);
        assert_eq!(lanes.next().unwrap().1, 3);
        assert_eq!(lanes.next(), None);
        lanes.leave(&lane("team", "slow"));
        assert_eq!(lanes.next().unwrap().1, 2);
    }

    #[test]
    fn a_job_that_has_left_its_host_counts_for_its_namespace_alone() {
        let mut lanes = Lanes::new(Width {
            all: 8,
            per_share: 1,
            per_host: 1,
        });
        for (share, job) in [("one", 1), ("one", 2), ("two", 3)] {
            lanes.push(lane(share, "host"), job);
        }
        let (mut first, job) = lanes.next().unwrap();
        assert_eq!((job, lanes.next()), (1, None));
        lanes.leave_host(&mut first);
        let (second, job) = lanes.next().unwrap();
        assert_eq!(
            (job, lanes.next()),
            (3, None),
            "the other job of the namespace waits"
        );
        lanes.leave(&second);
        assert_eq!(lanes.next(), None);
        lanes.leave(&first);
        let (third, job) = lanes.next().unwrap();
        assert_eq!(job, 2);
        lanes.leave(&third);
        assert_eq!(lanes.depth(), (0, 0));
        assert!(lanes.by_host.is_empty() && lanes.by_share.is_empty());
    }

    #[test]
    fn no_limit_is_passed_nothing_is_lost_and_no_share_waits_for_more_than_a_turn() {
        for (index, mut choices) in variants() {
            let width = Width {
                all: 1 + choices.below(6),
                per_share: 1 + choices.below(4),
                per_host: 1 + choices.below(4),
            };
            let mut lanes = Lanes::new(width);
            let (mut running, mut left): (Vec<Lane>, usize) = (Vec::new(), 0);
            for number in 0..300 {
                if choices.toss() {
                    let lane = Lane {
                        share: choices.below(4).to_string(),
                        host: format!("h{}", choices.below(3)),
                    };
                    lanes.push(lane, number);
                    left += 1;
                }
                if choices.toss() && !running.is_empty() {
                    lanes.leave(&running.remove(choices.below(running.len())));
                }
                while let Some((lane, _)) = lanes.next() {
                    running.push(lane);
                    left -= 1;
                }
                for lane in &running {
                    let share = running
                        .iter()
                        .filter(|other| other.share == lane.share)
                        .count();
                    let host = running
                        .iter()
                        .filter(|other| other.host == lane.host)
                        .count();
                    assert!(
                        share <= width.per_share && host <= width.per_host,
                        "variant {index}: {lane:?}"
                    );
                }
                assert!(running.len() <= width.all, "variant {index}");
                assert_eq!(lanes.depth(), (left, running.len()), "variant {index}");
            }
            while let Some(lane) = running.pop() {
                lanes.leave(&lane);
                while let Some((lane, _)) = lanes.next() {
                    running.push(lane);
                    left -= 1;
                }
            }
            assert_eq!(left, 0, "variant {index}");
        }
    }
}
