//! A filesystem with unknown geometry: one step, which cannot be paced.

use super::walk::{GeometryError, Survey, Unsplittable, Walk};
use crate::step::{ByteRange, Cursor, Step, StepBudget};

/// Free and total bytes, from statfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) free_bytes: u64,
    pub(super) size_bytes: u64,
}

/// Source of free and total bytes of a mounted filesystem.
pub(super) trait Statfs {
    fn space(&mut self) -> Result<Space, GeometryError>;
}

/// A walk with a single step for the whole filesystem.
pub(super) struct Whole<S> {
    source: S,
    /// Why it is not split, as human-readable text.
    reason: String,
    fs_type: String,
    cursor: Cursor,
}

impl<S: Statfs> Whole<S> {
    pub(super) fn new(source: S, fs_type: &str, reason: String, from: Cursor) -> Self {
        Self {
            source,
            reason,
            fs_type: fs_type.to_owned(),
            cursor: from,
        }
    }
}

impl<S: Statfs> Walk for Whole<S> {
    fn survey(&mut self, _: StepBudget) -> Result<Survey, GeometryError> {
        let space = self.source.space()?;
        Ok(Survey {
            description: format!("{}: trimmed in one step: {}", self.fs_type, self.reason),
            free_bytes: space.free_bytes,
            free_extents: None,
            largest_extent_bytes: None,
            steps: 1,
            unsplittable: vec![Unsplittable {
                what: format!("the whole filesystem: {}", self.reason),
                bytes: space.free_bytes,
                is_unallocated: false,
            }],
            size_bytes: space.size_bytes,
        })
    }

    fn next_step(&mut self, _: StepBudget) -> Result<Option<Step>, GeometryError> {
        if self.cursor.next_bytes > 0 {
            return Ok(None);
        }
        let space = self.source.space()?;
        self.cursor.next_bytes = u64::MAX;
        Ok(Some(Step {
            range: ByteRange::WHOLE,
            free_extents: None,
            free_bytes: Some(space.free_bytes),
            unsplittable: Some(self.reason.clone()),
        }))
    }

    fn cursor(&self) -> Cursor {
        self.cursor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake;

    impl Statfs for Fake {
        fn space(&mut self) -> Result<Space, GeometryError> {
            Ok(Space {
                free_bytes: 30,
                size_bytes: 100,
            })
        }
    }

    #[test]
    fn one_step_and_then_the_end() {
        let budget = StepBudget {
            free_bytes: 1,
            free_extents: 1,
        };
        let mut walk = Whole::new(Fake, "f2fs", "because".to_owned(), Cursor::default());
        let survey = walk.survey(budget).unwrap();
        assert_eq!((survey.steps, survey.unsplittable[0].bytes), (1, 30));
        let step = walk.next_step(budget).unwrap().unwrap();
        assert_eq!(step.range, ByteRange::WHOLE);
        assert_eq!(step.unsplittable.as_deref(), Some("because"));
        let done = walk.cursor();
        assert_eq!(walk.next_step(budget).unwrap(), None);
        let mut resumed = Whole::new(Fake, "f2fs", "because".to_owned(), done);
        assert_eq!(resumed.next_step(budget).unwrap(), None);
    }
}
