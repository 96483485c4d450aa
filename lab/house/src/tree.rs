//! The modules of a crate, without those that are only built for tests.

use crate::source::SourceFile;
use crate::test_code::{is_test_only, item_attributes};
use crate::tokens::name_of;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::{Expr, ExprLit, Item, ItemMod, Lit, Meta, UseTree};

/// Index of a module in [`Tree::modules`].
pub type ModuleId = usize;

/// Index of a file in [`Tree::files`].
pub type FileId = usize;

/// What a name refers to in a module.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A module.
    Module(ModuleId),
    /// A type or a trait; a path may continue after it.
    Type,
    /// A function, constant or static.
    Value,
    /// A `macro_rules!`.
    Macro,
    /// A `use` of this path.
    Use(Vec<String>),
}

/// A module: a file, or an inline `mod x { ... }`.
#[derive(Debug)]
pub struct Module {
    /// The file that contains it.
    pub file: FileId,
    /// The enclosing module.
    pub parent: Option<ModuleId>,
    /// Its names; a type, a function and a module may share one.
    pub names: BTreeMap<String, Vec<Entry>>,
    /// The paths of `use path::*`.
    pub globs: Vec<Vec<String>>,
}

/// The modules and files of a crate.
#[derive(Default)]
pub struct Tree {
    /// The crate's name in paths.
    pub crate_name: String,
    /// Shipped files.
    pub files: Vec<SourceFile>,
    /// The module of each file.
    pub file_modules: Vec<ModuleId>,
    /// Shipped modules.
    pub modules: Vec<Module>,
    /// The root of the library, if there is one.
    pub library: Option<ModuleId>,
}

impl Tree {
    /// Reads a crate from its roots: `src/lib.rs`, `src/main.rs` and `src/bin/*.rs`.
    ///
    /// # Errors
    /// If a file cannot be read or is not valid Rust, or the file of a module is missing.
    pub fn read(crate_directory: &Path, crate_name: &str) -> Result<Self> {
        let mut tree = Self {
            crate_name: crate_name.replace('-', "_"),
            ..Self::default()
        };
        let mut roots = vec![PathBuf::from("src/lib.rs"), PathBuf::from("src/main.rs")];
        if let Ok(entries) = std::fs::read_dir(crate_directory.join("src/bin")) {
            let mut programs: Vec<PathBuf> = entries
                .filter_map(|entry| Some(Path::new("src/bin").join(entry.ok()?.file_name())))
                .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
                .collect();
            programs.sort();
            roots.extend(programs);
        }
        for root in roots {
            if crate_directory.join(&root).is_file() {
                let directory = root.parent().unwrap_or(Path::new("")).to_owned();
                let module = tree.read_file(crate_directory, &root, &directory, None)?;
                if root.ends_with("lib.rs") {
                    tree.library = Some(module);
                }
            }
        }
        if tree.files.is_empty() {
            bail!(
                "{}: no src/lib.rs or src/main.rs",
                crate_directory.display()
            );
        }
        Ok(tree)
    }

    /// Reads a file and the files of its modules, which are in `children`.
    fn read_file(
        &mut self,
        crate_directory: &Path,
        path: &Path,
        children: &Path,
        parent: Option<ModuleId>,
    ) -> Result<ModuleId> {
        let file = SourceFile::read(crate_directory, path)?;
        let items = file.syntax.items.clone();
        let (file_id, module) = (self.files.len(), self.modules.len());
        self.files.push(file);
        self.file_modules.push(module);
        self.add_module(file_id, parent);
        self.read_items(crate_directory, module, children, &items)?;
        Ok(module)
    }

    fn add_module(&mut self, file: FileId, parent: Option<ModuleId>) {
        self.modules.push(Module {
            file,
            parent,
            names: BTreeMap::new(),
            globs: Vec::new(),
        });
    }

    fn read_items(
        &mut self,
        crate_directory: &Path,
        module: ModuleId,
        children: &Path,
        items: &[Item],
    ) -> Result<()> {
        for item in items {
            if is_test_only(item_attributes(item)) {
                continue;
            }
            if let Item::Mod(declaration) = item {
                let child = self.read_module(crate_directory, module, children, declaration)?;
                self.add(module, name_of(&declaration.ident), Entry::Module(child));
            } else if let Item::Use(item) = item {
                if item.leading_colon.is_none() {
                    for leaf in leaves(&item.tree) {
                        match leaf.name {
                            Some(name) => self.add(module, name, Entry::Use(leaf.path)),
                            None => self.modules[module].globs.push(leaf.path),
                        }
                    }
                }
            } else if let Some((name, entry)) = declared(item) {
                self.add(module, name, entry);
            }
        }
        Ok(())
    }

    fn read_module(
        &mut self,
        crate_directory: &Path,
        parent: ModuleId,
        children: &Path,
        declaration: &ItemMod,
    ) -> Result<ModuleId> {
        let name = name_of(&declaration.ident);
        let below = children.join(&name);
        if let Some((_, items)) = &declaration.content {
            let module = self.modules.len();
            self.add_module(self.modules[parent].file, Some(parent));
            self.read_items(crate_directory, module, &below, items)?;
            return Ok(module);
        }
        if let Some(path) = path_attribute(declaration) {
            let here = &self.files[self.modules[parent].file].path;
            let path = here.parent().unwrap_or(Path::new("")).join(path);
            // With a `path` attribute, the modules of that file are in the same directory as the
            // file.
            let beside = path.parent().unwrap_or(Path::new("")).to_owned();
            return self.read_file(crate_directory, &path, &beside, Some(parent));
        }
        let flat = children.join(format!("{name}.rs"));
        let nested = below.join("mod.rs");
        let path = if crate_directory.join(&flat).is_file() {
            flat
        } else {
            nested
        };
        self.read_file(crate_directory, &path, &below, Some(parent))
    }

    fn add(&mut self, module: ModuleId, name: String, entry: Entry) {
        self.modules[module]
            .names
            .entry(name)
            .or_default()
            .push(entry);
    }
}

/// The path in `#[path = "..."]`.
fn path_attribute(declaration: &ItemMod) -> Option<String> {
    declaration
        .attrs
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(path),
                    ..
                }) => Some(path.value()),
                _ => None,
            },
            _ => None,
        })
}

/// The name an item declares, and what it refers to; `None` for modules and `use`.
pub fn declared(item: &Item) -> Option<(String, Entry)> {
    let (ident, entry) = match item {
        Item::Const(item) => (&item.ident, Entry::Value),
        Item::Fn(item) => (&item.sig.ident, Entry::Value),
        Item::Static(item) => (&item.ident, Entry::Value),
        Item::Enum(item) => (&item.ident, Entry::Type),
        Item::Struct(item) => (&item.ident, Entry::Type),
        Item::Trait(item) => (&item.ident, Entry::Type),
        Item::TraitAlias(item) => (&item.ident, Entry::Type),
        Item::Type(item) => (&item.ident, Entry::Type),
        Item::Union(item) => (&item.ident, Entry::Type),
        Item::Macro(item) => (item.ident.as_ref()?, Entry::Macro),
        _ => return None,
    };
    Some((name_of(ident), entry))
}

/// One path of a `use`.
#[derive(Debug)]
pub struct Leaf {
    /// The full path; for a glob, that of the module.
    pub path: Vec<String>,
    /// The name it imports; `None` for a glob.
    pub name: Option<String>,
}

/// Splits a `use` into its individual paths.
pub fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect_leaves(tree, &[], &mut found);
    found
}

fn collect_leaves(tree: &UseTree, before: &[String], found: &mut Vec<Leaf>) {
    let with = |name: String| -> Vec<String> {
        // `use a::{self}` imports `a`.
        if name == "self" && !before.is_empty() {
            before.to_vec()
        } else {
            before.iter().cloned().chain([name]).collect()
        }
    };
    match tree {
        UseTree::Path(path) => collect_leaves(&path.tree, &with(name_of(&path.ident)), found),
        UseTree::Name(name) => {
            let path = with(name_of(&name.ident));
            found.push(Leaf {
                name: path.last().cloned(),
                path,
            });
        }
        UseTree::Rename(rename) => found.push(Leaf {
            path: with(name_of(&rename.ident)),
            name: Some(name_of(&rename.rename)),
        }),
        UseTree::Glob(_) => found.push(Leaf {
            path: before.to_vec(),
            name: None,
        }),
        UseTree::Group(group) => {
            for tree in &group.items {
                collect_leaves(tree, before, found);
            }
        }
    }
}
