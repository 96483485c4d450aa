//! A workload's planned operations.

use std::collections::VecDeque;

use super::Operation;

/// Allocates file numbers: a workload in a mix uses `offset`, `offset + stride` ..., and reuses the
/// numbers of deleted files.
#[derive(Debug, Clone)]
pub(super) struct FileNumbers {
    unused: Vec<u32>,
    next: u32,
    stride: u32,
}

impl FileNumbers {
    pub(super) fn new(namespace: Namespace) -> Self {
        Self {
            unused: Vec::new(),
            next: namespace.offset,
            stride: namespace.stride,
        }
    }

    pub(super) fn take(&mut self) -> u32 {
        self.unused.pop().unwrap_or_else(|| {
            let name = self.next;
            self.next += self.stride;
            name
        })
    }

    pub(super) fn release(&mut self, name: u32) {
        self.unused.push(name);
    }
}

/// The file numbers a workload may use, and how it writes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespace {
    /// First file number.
    pub offset: u32,
    /// Difference between file numbers; at least 1.
    pub stride: u32,
    /// Pages written in one go before other workloads get their turn; at least 1.
    pub chunk_pages: u32,
}

impl Default for Namespace {
    fn default() -> Self {
        Self {
            offset: 0,
            stride: 1,
            chunk_pages: 64,
        }
    }
}

/// A queue of operations; long appends and overwrites are split into chunks.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    queue: VecDeque<Operation>,
    names: FileNumbers,
    chunk_pages: u32,
}

impl Plan {
    pub(super) fn new(namespace: Namespace) -> Self {
        Self {
            queue: VecDeque::new(),
            names: FileNumbers::new(namespace),
            chunk_pages: namespace.chunk_pages.max(1),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Plans a new file with `pages` pages, and returns its number.
    pub(super) fn create(&mut self, pages: u32) -> u32 {
        let file = self.names.take();
        self.queue.push_back(Operation::Create { file });
        self.queue.push_back(Operation::Append { file, pages });
        file
    }

    /// Plans reading a whole file.
    pub(super) fn read(&mut self, file: u32, pages: u32) {
        self.queue.push_back(Operation::Read {
            file,
            offset: 0,
            pages,
        });
    }

    pub(super) fn overwrite(&mut self, file: u32, offset: u32, pages: u32) {
        self.queue.push_back(Operation::Overwrite {
            file,
            offset,
            pages,
        });
    }

    pub(super) fn delete(&mut self, file: u32) {
        self.queue.push_back(Operation::Delete { file });
        // The number may be reused later in the same plan, because operations run in order.
        self.names.release(file);
    }

    /// Removes the next operation, or the next chunk of it.
    pub(super) fn pop(&mut self) -> Option<Operation> {
        let chunk = self.chunk_pages;
        let rest = self.queue.front_mut()?;
        let mut first = *rest;
        match (&mut first, rest) {
            (Operation::Append { pages: now, .. }, Operation::Append { pages, .. })
                if *pages > chunk =>
            {
                *now = chunk;
                *pages -= chunk;
            }
            (
                Operation::Overwrite { pages: now, .. } | Operation::Read { pages: now, .. },
                Operation::Overwrite { offset, pages, .. } | Operation::Read { offset, pages, .. },
            ) if *pages > chunk => {
                *now = chunk;
                *pages -= chunk;
                *offset += chunk;
            }
            _ => return self.queue.pop_front(),
        }
        Some(first)
    }
}
