//! A table with a free list: no allocation once it has grown.

/// Values under stable small numbers.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.slots[at as usize] = Some(value);
            at
        } else {
            self.slots.push(Some(value));
            (self.slots.len() - 1) as u32
        }
    }

    #[inline]
    pub fn remove(&mut self, at: u32) -> T {
        self.free.push(at);
        self.slots[at as usize].take().expect("a slot in use")
    }

    #[inline]
    pub fn get(&self, at: u32) -> &T {
        self.slots[at as usize].as_ref().expect("a slot in use")
    }

    #[inline]
    pub fn get_mut(&mut self, at: u32) -> &mut T {
        self.slots[at as usize].as_mut().expect("a slot in use")
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// The numbers in use, ascending.
    pub fn keys(&self) -> Vec<u32> {
        (0..self.slots.len() as u32).filter(|&at| self.slots[at as usize].is_some()).collect()
    }
}
