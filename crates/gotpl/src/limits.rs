//! How much a run may do, and how much it has done.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use crate::func::Fault;

/// Bounds of a run, or of several that share a [`Meter`]. Each ends it with an error that names the
/// limit; none can be reached by a manifest a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units of work: nodes walked, calls made, loop turns taken, and what each function reads and
    /// makes, by its [`crate::Cost`]. A unit is about a nanosecond of one processor.
    pub work: u64,
    /// Bytes of text made, the output and every string on the way to it.
    pub bytes: u64,
    /// Time by the clock of the [`Meter`], if it has one.
    pub time: Duration,
    /// Templates inside templates (`template`, `include`, `tpl` and blocks).
    pub depth: usize,
    /// How deep lists and dicts may be put into each other.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            work: 2_000_000_000,
            bytes: 64 << 20,
            time: Duration::from_secs(10),
            depth: 1_000,
            nesting: 1_000,
        }
    }
}

/// A budget that was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Units of work, and the limit.
    Work(u64, u64),
    /// Bytes of text, and the limit.
    Bytes(u64, u64),
    /// Time, and the limit.
    Time(Duration, Duration),
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Over::Work(spent, limit) => {
                write!(f, "over budget: {spent} of {limit} units of work spent")
            }
            Over::Bytes(made, limit) => {
                write!(f, "over budget: {made} of {limit} bytes of text made")
            }
            Over::Time(spent, limit) => {
                let [spent, limit] =
                    [spent, limit].map(|time| time.min(&Duration::from_secs(86_400)).as_secs_f64());
                write!(f, "over budget: {spent:.1} of {limit:.1} seconds spent")
            }
        }
    }
}

/// How much work is done between two looks at the clock.
const GLANCE: u64 = 1_000_000;

/// What one or several runs have spent of their limits.
pub struct Meter<'m> {
    limits: Limits,
    clock: Option<&'m dyn Fn() -> Duration>,
    work: Cell<u64>,
    bytes: Cell<u64>,
    /// The work at which the limits are compared: most charges are one addition and one comparison.
    next: Cell<u64>,
    over: Cell<Option<Over>>,
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("limits", &self.limits)
            .field("work", &self.work)
            .field("bytes", &self.bytes)
            .finish()
    }
}

impl Default for Meter<'_> {
    fn default() -> Self {
        Meter::new(Limits::default())
    }
}

impl<'m> Meter<'m> {
    /// One that has counted nothing, without a clock.
    pub fn new(limits: Limits) -> Self {
        let next = Cell::new(limits.work.min(GLANCE));
        Meter {
            limits,
            clock: None,
            work: Cell::new(0),
            bytes: Cell::new(0),
            next,
            over: Cell::new(None),
        }
    }

    /// The same with a clock, which answers how much time has passed. It is asked about once a
    /// millisecond. To end the work early, it answers [`Duration::MAX`].
    #[must_use]
    pub fn timed(self, clock: &'m dyn Fn() -> Duration) -> Self {
        Meter {
            clock: Some(clock),
            ..self
        }
    }

    /// One with the same limits and clock that has done so much work already: for what is done in
    /// several goes.
    #[must_use]
    pub fn resumed(&self, work: u64) -> Self {
        let meter = Meter {
            clock: self.clock,
            ..Meter::new(self.limits.clone())
        };
        meter.work.set(work);
        meter.next.set(0);
        meter
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The units of work done.
    pub fn work(&self) -> u64 {
        self.work.get()
    }

    /// The bytes of text made.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// The limit that was reached first, if one was.
    pub fn over(&self) -> Option<Over> {
        self.over.get()
    }

    /// Counts work that the caller does on behalf of the templates.
    ///
    /// # Errors
    /// If a limit is reached, be it by this or before.
    #[inline]
    pub fn spend(&self, work: u64) -> Result<(), Over> {
        let total = self.work.get().saturating_add(work);
        self.work.set(total);
        if total < self.next.get() {
            Ok(())
        } else {
            self.compare(total)
        }
    }

    /// Counts work where nothing can be said of the limits; the next charge is refused if one is
    /// reached.
    #[inline]
    pub fn add(&self, work: u64) {
        self.work.set(self.work.get().saturating_add(work));
    }

    #[cold]
    #[inline(never)]
    fn compare(&self, total: u64) -> Result<(), Over> {
        let passed = || {
            self.clock
                .map(|clock| clock())
                .filter(|time| *time > self.limits.time)
        };
        let over = match self.over.get() {
            Some(over) => Some(over),
            None if total > self.limits.work => Some(Over::Work(total, self.limits.work)),
            None => passed().map(|time| Over::Time(time, self.limits.time)),
        };
        match over {
            Some(over) => {
                self.next.set(0);
                self.over.set(Some(over));
                Err(over)
            }
            None => {
                self.next
                    .set(total.saturating_add(GLANCE).min(self.limits.work));
                Ok(())
            }
        }
    }

    /// Counts text or elements before they are made. To make them is work, too.
    ///
    /// # Errors
    /// If they are too many.
    #[inline]
    pub fn make(&self, bytes: usize) -> Result<(), Over> {
        let total = self.bytes.get().saturating_add(bytes as u64);
        if total > self.limits.bytes {
            return Err(self.too_long(total));
        }
        self.bytes.set(total);
        self.spend(bytes as u64)
    }

    /// Counts text where nothing can be said of the limits; the next charge is refused if one is
    /// reached.
    pub(crate) fn add_bytes(&self, bytes: usize) {
        let total = self.bytes.get().saturating_add(bytes as u64);
        self.bytes.set(total);
        self.add(bytes as u64);
        if total > self.limits.bytes {
            self.too_long(total);
        }
    }

    /// Whether a text that is being made is already longer than all texts may be.
    pub(crate) fn fits(&self, bytes: usize) -> Result<(), Over> {
        let total = self.bytes.get().saturating_add(bytes as u64);
        if total > self.limits.bytes {
            Err(self.too_long(total))
        } else {
            Ok(())
        }
    }

    #[cold]
    #[inline(never)]
    fn too_long(&self, total: u64) -> Over {
        let over = self
            .over
            .get()
            .unwrap_or(Over::Bytes(total, self.limits.bytes));
        self.over.set(Some(over));
        self.next.set(0);
        over
    }
}

impl From<Over> for Fault {
    fn from(over: Over) -> Fault {
        Fault::over(over)
    }
}

#[cfg(test)]
mod tests {
    use super::{GLANCE, Limits, Meter, Over};
    use std::cell::Cell;
    use std::time::Duration;

    #[test]
    fn work_is_refused_from_the_first_unit_over_the_limit_and_ever_after() {
        let meter = Meter::new(Limits {
            work: 100,
            ..Limits::default()
        });
        assert_eq!(meter.spend(100), Ok(()));
        assert_eq!(meter.spend(1), Err(Over::Work(101, 100)));
        assert_eq!(meter.spend(0), Err(Over::Work(101, 100)));
        assert_eq!(meter.over(), Some(Over::Work(101, 100)));
        let meter = Meter::new(Limits {
            work: 100,
            ..Limits::default()
        })
        .resumed(200);
        assert_eq!(meter.spend(1), Err(Over::Work(201, 100)));
    }

    #[test]
    fn work_that_nobody_could_refuse_is_refused_at_the_next_charge() {
        let meter = Meter::new(Limits {
            work: 100,
            ..Limits::default()
        });
        meter.add(101);
        assert_eq!(meter.spend(0), Err(Over::Work(101, 100)));
        let meter = Meter::new(Limits {
            bytes: 10,
            ..Limits::default()
        });
        meter.add_bytes(11);
        assert_eq!(meter.spend(0), Err(Over::Bytes(11, 10)));
    }

    #[test]
    fn text_counts_as_text_and_as_work() {
        let meter = Meter::new(Limits {
            work: 100,
            bytes: 10,
            ..Limits::default()
        });
        assert_eq!(meter.make(10), Ok(()));
        assert_eq!((meter.work(), meter.bytes()), (10, 10));
        assert_eq!(meter.make(1), Err(Over::Bytes(11, 10)));
        assert_eq!(
            meter.make(usize::MAX),
            Err(Over::Bytes(11, 10)),
            "the first is what is told"
        );
    }

    #[test]
    fn the_clock_is_asked_once_in_a_while_and_ends_the_work() {
        let (asked, time) = (Cell::new(0_u32), Cell::new(Duration::ZERO));
        let clock = || {
            asked.set(asked.get() + 1);
            time.get()
        };
        let meter = Meter::new(Limits {
            time: Duration::from_secs(1),
            ..Limits::default()
        })
        .timed(&clock);
        for _ in 0..10 * GLANCE / 100 {
            assert_eq!(meter.spend(100), Ok(()));
        }
        assert!((9..=11).contains(&asked.get()), "{}", asked.get());
        time.set(Duration::MAX);
        assert_eq!(
            meter.spend(GLANCE),
            Err(Over::Time(Duration::MAX, Duration::from_secs(1)))
        );
    }
}
