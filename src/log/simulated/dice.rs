//! Random numbers from a seed.

/// A small generator: xorshift64*.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        // Neighbouring seeds begin alike; the first rolls are thrown away.
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            dice.roll(2);
        }
        dice
    }

    /// A number below `sides`.
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        usize::try_from(high).unwrap() % sides.max(1)
    }

    /// True once in `sides`.
    pub(super) fn once_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    /// One of `all`.
    pub(super) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }

    /// A generator of its own, so that what it decides does not depend on who asks in between.
    pub(super) fn fork(&mut self) -> Self {
        Self::new(u64::try_from(self.roll(1 << 31)).unwrap())
    }
}
