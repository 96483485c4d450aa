//! Name resolution through re-exports and globs.

use crate::tree::{Entry, FileId, ModuleId, Tree};

/// What a path resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A module.
    Module(ModuleId),
    /// An item, in the file that defines it.
    Item {
        /// The file that defines it.
        file: FileId,
        /// Its name in that file.
        name: String,
        /// Whether a path may continue after it, as in `Type::new`.
        is_type: bool,
    },
}

/// Resolves names. Keeps track of lookups in progress, because globs may form cycles.
pub struct Names<'tree> {
    tree: &'tree Tree,
    pending: Vec<(ModuleId, String)>,
}

impl<'tree> Names<'tree> {
    /// Creates a resolver for `tree`.
    pub fn new(tree: &'tree Tree) -> Self {
        Self {
            tree,
            pending: Vec::new(),
        }
    }

    /// Resolves `path` as seen from `module`. Returns several targets if types, values and modules
    /// share a name, and none if it leads to another crate.
    pub fn resolve(&mut self, module: ModuleId, path: &[String]) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(self.root(module))],
            "self" => vec![Target::Module(module)],
            "super" => self.tree.modules[module]
                .parent
                .map(Target::Module)
                .into_iter()
                .collect(),
            name => {
                let found = self.look_up(module, name);
                match self.tree.library {
                    Some(library) if found.is_empty() && name == self.tree.crate_name => {
                        vec![Target::Module(library)]
                    }
                    _ => found,
                }
            }
        };
        for segment in rest {
            targets = targets
                .into_iter()
                .flat_map(|target| match target {
                    Target::Module(inner) if segment == "super" => self.tree.modules[inner]
                        .parent
                        .map(Target::Module)
                        .into_iter()
                        .collect(),
                    Target::Module(inner) => self.look_up(inner, segment),
                    Target::Item { is_type: true, .. } => vec![target],
                    Target::Item { .. } => Vec::new(),
                })
                .collect();
        }
        targets
    }

    /// The root of the module's library or program.
    fn root(&self, mut module: ModuleId) -> ModuleId {
        while let Some(parent) = self.tree.modules[module].parent {
            module = parent;
        }
        module
    }

    fn look_up(&mut self, module: ModuleId, name: &str) -> Vec<Target> {
        let key = (module, name.to_owned());
        if self.pending.contains(&key) {
            return Vec::new();
        }
        self.pending.push(key);
        let tree = self.tree;
        let mut found = Vec::new();
        for entry in tree.modules[module].names.get(name).into_iter().flatten() {
            match entry {
                Entry::Module(inner) => found.push(Target::Module(*inner)),
                Entry::Use(path) => found.extend(self.resolve(module, path)),
                Entry::Type | Entry::Value | Entry::Macro => found.push(Target::Item {
                    file: tree.modules[module].file,
                    name: name.to_owned(),
                    is_type: matches!(entry, Entry::Type),
                }),
            }
        }
        if found.is_empty() {
            for path in &tree.modules[module].globs {
                for target in self.resolve(module, path) {
                    if let Target::Module(inner) = target {
                        found.extend(self.look_up(inner, name));
                    }
                }
            }
        }
        self.pending.pop();
        found
    }

    /// Resolves a macro's name: by path, or by textual scope, in which a macro is known in all
    /// modules below its definition.
    pub fn resolve_macro(&mut self, module: ModuleId, path: &[String]) -> Vec<Target> {
        let found = self.resolve(module, path);
        let [name] = path else {
            return found;
        };
        if !found.is_empty() {
            return found;
        }
        let mut around = self.tree.modules[module].parent;
        while let Some(module) = around {
            let names = &self.tree.modules[module].names;
            if names
                .get(name)
                .is_some_and(|entries| entries.iter().any(|entry| matches!(entry, Entry::Macro)))
            {
                return vec![Target::Item {
                    file: self.tree.modules[module].file,
                    name: format!("{name}!"),
                    is_type: false,
                }];
            }
            around = self.tree.modules[module].parent;
        }
        Vec::new()
    }
}
