//! Which file of a crate uses items of which other one.
//!
//! An edge leads from a file to the one that defines an item which it names: in a `use`, in a path, in
//! the tokens of a macro or of an attribute. Tests do not count, nor do `mod x;`, re-exports (`pub use`),
//! methods (whose type is named somewhere) and what `derive` writes. A name that came by `use super::*`
//! counts where it is used.

use crate::names::{Names, Target};
use crate::test_code::{
    impl_item_attributes, is_test_only, item_attributes, trait_item_attributes,
};
use crate::tokens::{Found, name_of, scan};
use crate::tree::{Entry, FileId, ModuleId, Tree, declared, leaves};
use proc_macro2::TokenStream;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Field, ImplItem, Item, ItemMod, ItemUse, Local, Macro, Meta, PatIdent, Path,
    Stmt, TraitItem, Visibility,
};

/// From a file to the files that it uses, each with the names of the items.
pub type Edges = BTreeMap<FileId, BTreeMap<FileId, BTreeSet<String>>>;

/// All edges of a crate.
pub fn edges(tree: &Tree) -> Edges {
    let mut edges = Edges::new();
    for (file, source) in tree.files.iter().enumerate() {
        let mut visitor = Visitor {
            tree,
            names: Names::new(tree),
            module: tree.file_modules[file],
            scopes: Vec::new(),
            used: BTreeMap::new(),
        };
        for item in &source.syntax.items {
            visitor.visit_item(item);
        }
        visitor.used.remove(&file);
        edges.insert(file, visitor.used);
    }
    edges
}

/// Names that a block declares: `None` for an item of its own, or the path of a `use`.
#[derive(Default)]
struct Scope {
    names: BTreeMap<String, Option<Vec<String>>>,
    globs: Vec<Vec<String>>,
}

struct Visitor<'tree> {
    tree: &'tree Tree,
    names: Names<'tree>,
    module: ModuleId,
    scopes: Vec<Scope>,
    used: BTreeMap<FileId, BTreeSet<String>>,
}

impl Visitor<'_> {
    fn name(&mut self, path: &[String]) {
        let targets = self.resolve(path);
        self.add(targets);
    }

    fn add(&mut self, targets: Vec<Target>) {
        for target in targets {
            if let Target::Item { file, name, .. } = target {
                self.used.entry(file).or_default().insert(name);
            }
        }
    }

    /// What a path leads to: names of the blocks around it come first.
    fn resolve(&mut self, path: &[String]) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        if first == "Self" {
            return Vec::new();
        }
        for scope in self.scopes.iter().rev() {
            match scope.names.get(first) {
                Some(None) => return Vec::new(),
                // `use a::a` in a block would look itself up again.
                Some(Some(path)) => {
                    let whole: Vec<String> = path.iter().chain(rest).cloned().collect();
                    return self.names.resolve(self.module, &whole);
                }
                None => {}
            }
        }
        let found = self.names.resolve(self.module, path);
        if !found.is_empty() {
            return found;
        }
        for scope in self.scopes.iter().rev() {
            for glob in &scope.globs {
                let whole: Vec<String> = glob.iter().chain(path).cloned().collect();
                // Behind an enum stand its variants: `use Kind::*` itself names it already.
                let found: Vec<Target> = self
                    .names
                    .resolve(self.module, glob)
                    .into_iter()
                    .filter(|target| matches!(target, Target::Module(_)))
                    .collect();
                if !found.is_empty() {
                    let found = self.names.resolve(self.module, &whole);
                    if !found.is_empty() {
                        return found;
                    }
                }
            }
        }
        Vec::new()
    }

    fn scan(&mut self, tokens: TokenStream) {
        let mut paths = Vec::new();
        scan(tokens, &mut |found| {
            if let Found::Path { segments, is_macro } = found {
                paths.push((segments, is_macro));
            }
        });
        for (path, is_macro) in paths {
            if is_macro {
                self.name_macro(&path);
            } else {
                self.name(&path);
            }
        }
    }

    fn name_macro(&mut self, path: &[String]) {
        let targets = self.names.resolve_macro(self.module, path);
        self.add(targets);
    }

    fn scope_of(block: &Block) -> Scope {
        let mut scope = Scope::default();
        for statement in &block.stmts {
            let Stmt::Item(item) = statement else {
                continue;
            };
            if is_test_only(item_attributes(item)) {
                continue;
            }
            if let Item::Use(item) = item {
                for leaf in leaves(&item.tree) {
                    match leaf.name {
                        Some(name) => {
                            scope.names.insert(name, Some(leaf.path));
                        }
                        None => scope.globs.push(leaf.path),
                    }
                }
            } else if let Some((name, _)) = declared(item) {
                scope.names.insert(name, None);
            }
        }
        scope
    }
}

/// The segments of a path of this crate; none for one of another crate (`::a`).
fn segments(path: &Path) -> Option<Vec<String>> {
    path.leading_colon.is_none().then(|| {
        path.segments
            .iter()
            .map(|segment| name_of(&segment.ident))
            .collect()
    })
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_only(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_test_only(impl_item_attributes(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if !is_test_only(trait_item_attributes(item)) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if !is_test_only(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if !is_test_only(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_item_mod(&mut self, declaration: &'ast ItemMod) {
        let Some((_, items)) = &declaration.content else {
            return;
        };
        let inner = self.tree.modules[self.module]
            .names
            .get(&name_of(&declaration.ident))
            .into_iter()
            .flatten()
            .find_map(|entry| match entry {
                Entry::Module(inner) => Some(*inner),
                _ => None,
            });
        let Some(inner) = inner else {
            return;
        };
        let outer = std::mem::replace(&mut self.module, inner);
        for item in items {
            self.visit_item(item);
        }
        self.module = outer;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_some() || !matches!(item.vis, Visibility::Inherited) {
            return;
        }
        for leaf in leaves(&item.tree) {
            // A `use` of a block is no name for itself.
            let targets = self.names.resolve(self.module, &leaf.path);
            self.add(targets);
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_block(&mut self, block: &'ast Block) {
        self.scopes.push(Self::scope_of(block));
        visit::visit_block(self, block);
        self.scopes.pop();
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if let Some(segments) = segments(path) {
            self.name(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        // A constant or a unit struct; anything else is a new variable.
        let name = name_of(&pattern.ident);
        if name.starts_with(char::is_uppercase) {
            self.name(&[name]);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(path) = segments(&call.path) {
            self.name_macro(&path);
        }
        self.scan(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let ignored = [
            "doc", "derive", "cfg", "cfg_attr", "allow", "expect", "warn",
        ];
        if ignored.iter().any(|name| attribute.path().is_ident(name)) {
            return;
        }
        let Meta::List(list) = &attribute.meta else {
            return;
        };
        self.scan(list.tokens.clone());
        // serde names functions and types in strings: `with = "crate::times"`.
        let mut texts = Vec::new();
        if attribute.path().is_ident("serde") {
            scan(list.tokens.clone(), &mut |found| {
                if let Found::Literal(literal) = found {
                    texts.push(literal.to_string());
                }
            });
        }
        for text in texts {
            if let Ok(text) = syn::parse_str::<syn::LitStr>(&text)
                && text.value().contains("::")
                && let Ok(path) = text.parse::<Path>()
            {
                self.visit_path(&path);
            }
        }
    }
}
