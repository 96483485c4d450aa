//! Dependency cycles between the files of a crate: files that use each other's items, directly or
//! indirectly.

use crate::tree::{FileId, Tree};
use crate::uses::{Edges, edges};
use std::path::PathBuf;

/// A dependency within a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The file that uses the items.
    pub from: PathBuf,
    /// The file that defines them.
    pub to: PathBuf,
    /// The items.
    pub items: Vec<String>,
}

/// Files that depend on each other: a strongly connected component of more than one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// The files, relative to the crate's directory, sorted.
    pub files: Vec<PathBuf>,
    /// The edges between them.
    pub edges: Vec<Edge>,
}

/// The cycles of a crate, the largest first.
pub(crate) fn cycles(tree: &Tree) -> Vec<Cycle> {
    let edges = edges(tree);
    let path = |file: FileId| tree.files[file].path.clone();
    let mut cycles: Vec<Cycle> = components(&edges)
        .into_iter()
        .filter(|files| files.len() > 1)
        .map(|files| {
            let mut inner: Vec<Edge> = files
                .iter()
                .flat_map(|from| edges[from].iter().map(move |(to, items)| (from, to, items)))
                .filter(|(_, to, _)| files.contains(to))
                .map(|(from, to, items)| Edge {
                    from: path(*from),
                    to: path(*to),
                    items: items.iter().cloned().collect(),
                })
                .collect();
            inner.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
            let mut files: Vec<PathBuf> = files.into_iter().map(path).collect();
            files.sort();
            Cycle {
                files,
                edges: inner,
            }
        })
        .collect();
    cycles.sort_by(|a, b| (b.files.len(), &a.files).cmp(&(a.files.len(), &b.files)));
    cycles
}

/// Strongly connected components: R. Tarjan, "Depth-first search and linear graph algorithms", SIAM
/// J. Comput. 1 (1972).
fn components(edges: &Edges) -> Vec<Vec<FileId>> {
    let count = edges.keys().next_back().map_or(0, |last| last + 1);
    let mut search = Search {
        edges,
        order: vec![None; count],
        low: vec![0; count],
        on_stack: vec![false; count],
        stack: Vec::new(),
        visited: 0,
        components: Vec::new(),
    };
    for &file in edges.keys() {
        if search.order[file].is_none() {
            search.visit(file);
        }
    }
    search.components
}

struct Search<'edges> {
    edges: &'edges Edges,
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<FileId>,
    visited: usize,
    components: Vec<Vec<FileId>>,
}

impl Search<'_> {
    fn visit(&mut self, file: FileId) {
        let order = self.visited;
        self.visited += 1;
        self.order[file] = Some(order);
        self.low[file] = order;
        self.stack.push(file);
        self.on_stack[file] = true;
        for &next in self.edges[&file].keys() {
            match self.order[next] {
                None => {
                    self.visit(next);
                    self.low[file] = self.low[file].min(self.low[next]);
                }
                Some(seen) if self.on_stack[next] => {
                    self.low[file] = self.low[file].min(seen);
                }
                Some(_) => {}
            }
        }
        if self.low[file] == order {
            let mut component = Vec::new();
            while let Some(member) = self.stack.pop() {
                self.on_stack[member] = false;
                component.push(member);
                if member == file {
                    break;
                }
            }
            self.components.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    /// The cycles of a synthetic crate, each as its files and its edges.
    fn found(files: &[(&str, &str)]) -> Vec<(Vec<String>, Vec<String>)> {
        let directory = tempfile::tempdir().unwrap();
        for (path, code) in files {
            let path = directory.path().join("src").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, code).unwrap();
        }
        let name = |path: &PathBuf| {
            let path = path.strip_prefix("src").unwrap();
            path.to_str().unwrap().to_owned()
        };
        cycles(&Tree::read(directory.path(), "made-up").unwrap())
            .iter()
            .map(|cycle| {
                let edges = cycle.edges.iter().map(|edge| {
                    let items = edge.items.join(" ");
                    format!("{} -> {}: {items}", name(&edge.from), name(&edge.to))
                });
                (cycle.files.iter().map(name).collect(), edges.collect())
            })
            .collect()
    }

    /// Asserts that the crate has a single cycle of two files with these edges.
    #[track_caller]
    fn assert_cycle(files: &[(&str, &str)], expected: [&str; 2]) {
        let found = found(files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].1, expected);
    }

    #[test]
    fn two_files_that_use_each_other() {
        assert_cycle(
            &[
                ("lib.rs", "mod a; mod b; pub use a::A;"),
                ("a.rs", "use crate::b::B; pub struct A(B);"),
                ("b.rs", "pub struct B; fn f(_: &super::a::A) {}"),
            ],
            ["a.rs -> b.rs: B", "b.rs -> a.rs: A"],
        );
    }

    #[test]
    fn a_parent_and_its_module() {
        assert_cycle(
            &[
                ("lib.rs", "mod a;"),
                (
                    "a.rs",
                    "mod b; pub const LIMIT: u8 = 1; pub fn f() { b::g() }",
                ),
                ("a/b.rs", "pub fn g() -> u8 { super::LIMIT }"),
            ],
            ["a/b.rs -> a.rs: LIMIT", "a.rs -> a/b.rs: g"],
        );
    }

    #[test]
    fn three_files_in_a_cycle_and_one_outside() {
        let found = found(&[
            ("main.rs", "mod a; mod b; mod c; fn main() { a::f() }"),
            ("a.rs", "pub fn f() { crate::b::f() }"),
            ("b.rs", "use crate::c; pub fn f() { c::f() }"),
            ("c.rs", "use super::a::f as again; pub fn f() { again() }"),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, ["a.rs", "b.rs", "c.rs"]);
    }

    #[test]
    fn declarations_and_re_exports_are_no_dependency() {
        assert!(
            found(&[
                ("lib.rs", "mod a; pub use a::{A, B};"),
                ("a.rs", "mod b; mod c; pub use b::*; pub(crate) use c::B;"),
                ("a/b.rs", "use super::B; pub struct A(B);"),
                ("a/c.rs", "pub struct B;"),
            ])
            .is_empty()
        );
    }

    #[test]
    fn re_exports_and_renames_resolve_to_the_definition() {
        assert_cycle(
            &[
                (
                    "lib.rs",
                    "mod a; mod b; mod c; pub use c::Inner as Outer; pub use b::*;",
                ),
                ("a.rs", "pub struct A;"),
                ("b.rs", "use crate::Outer; pub struct B(Outer);"),
                ("c.rs", "use crate::B; pub enum Inner { B(Box<B>) }"),
            ],
            ["b.rs -> c.rs: Inner", "c.rs -> b.rs: B"],
        );
    }

    #[test]
    fn glob_imports_count_where_names_are_used() {
        assert_cycle(
            &[
                ("lib.rs", "mod a; mod b; use a::A; const B: A = A;"),
                ("a.rs", "use super::*; pub struct A; const C: A = B;"),
                (
                    "b.rs",
                    "use super::*; struct Own; fn f() -> Option<Own> { None }",
                ),
            ],
            ["a.rs -> lib.rs: B", "lib.rs -> a.rs: A"],
        );
    }

    #[test]
    fn tests_do_not_count() {
        assert!(
            found(&[
                ("lib.rs", "mod a; mod b; #[cfg(test)] mod testing;"),
                (
                    "a.rs",
                    "pub struct A; #[cfg(test)] use crate::b::B;
                     impl A { #[cfg(test)] fn f(_: crate::b::B) {} }
                     #[cfg(test)] mod tests { use super::super::b::*; fn f(_: B) {} }",
                ),
                ("b.rs", "use super::a::A; pub struct B(A);"),
            ])
            .is_empty()
        );
    }

    #[test]
    fn macros_attributes_and_blocks_are_searched() {
        for code in [
            r#"pub fn f() -> String { format!("{}", crate::b::B) }"#,
            r#"#[serde(with = "super::b::B")] pub fn f() {}"#,
            "#[arg(value_parser = super::b::B)] pub fn f() {}",
            "pub fn f() { use crate::b; let _ = vec![1, b::B]; }",
            "pub fn f() { use super::b::*; let _ = B; }",
            "macro_rules! m { () => { $crate::b::B } } pub fn f() { m!() }",
            "pub fn f(x: u8) { match x { super::b::B => {} _ => {} } }",
            "trait T { fn g() -> u8 { <u8 as super::b::B>::g() } } pub fn f() {}",
            "pub fn f() {} impl crate::b::B {}",
        ] {
            assert_cycle(
                &[
                    ("lib.rs", "mod a; mod b;"),
                    ("a.rs", code),
                    ("b.rs", "pub struct B; fn g() { super::a::f() }"),
                ],
                ["a.rs -> b.rs: B", "b.rs -> a.rs: f"],
            );
        }
    }

    #[test]
    fn macros_have_textual_scope() {
        assert_cycle(
            &[
                (
                    "lib.rs",
                    "macro_rules! ask { () => {} } mod a; fn f() { a::g() }",
                ),
                ("a.rs", "pub fn g() { ask!() }"),
            ],
            ["a.rs -> lib.rs: ask!", "lib.rs -> a.rs: g"],
        );
    }

    #[test]
    fn local_and_foreign_names_are_not_dependencies() {
        assert!(
            found(&[
                ("lib.rs", "mod a; pub struct Error; fn f() { a::g() }"),
                (
                    "a.rs",
                    "use super::*;
                     pub fn g() { struct Error; let _ = Error; }
                     fn h() -> Result<(), std::fmt::Error> { x.Error(); Ok(()) }
                     fn i() -> ::other::Error { y(Self::Error) }",
                ),
            ])
            .is_empty()
        );
    }

    #[test]
    fn a_program_using_its_library() {
        assert!(
            found(&[
                ("lib.rs", "mod a; pub use a::A;"),
                ("a.rs", "pub struct A;"),
                ("main.rs", "use made_up::A; fn main() { let _ = A; }"),
            ])
            .is_empty()
        );
    }
}
