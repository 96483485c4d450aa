//! Distinguishes code that is only built for tests from shipped code.

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, ImplItem, Item, Meta, Token, TraitItem};

/// Whether a `cfg` attribute excludes the code from a build without tests and features.
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<Meta>()
                    .is_ok_and(|predicate| holds_without_tests(&predicate) == Some(false)))
    })
}

/// Evaluates a `cfg` predicate for a build without tests and features; `None` if it depends on the
/// target.
fn holds_without_tests(predicate: &Meta) -> Option<bool> {
    match predicate {
        Meta::Path(path) if path.is_ident("test") => Some(false),
        Meta::NameValue(pair) if pair.path.is_ident("feature") => Some(false),
        Meta::List(list) => {
            let parts: Vec<Option<bool>> = Punctuated::<Meta, Token![,]>::parse_terminated
                .parse2(list.tokens.clone())
                .ok()?
                .iter()
                .map(holds_without_tests)
                .collect();
            if list.path.is_ident("not") {
                parts.first().copied().flatten().map(|held| !held)
            } else if list.path.is_ident("all") {
                if parts.contains(&Some(false)) {
                    Some(false)
                } else {
                    parts.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
                }
            } else if list.path.is_ident("any") {
                if parts.contains(&Some(true)) {
                    Some(true)
                } else {
                    parts.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
                }
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The attributes of an item; empty for items `syn` does not understand.
pub fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of an item in an `impl` block.
pub fn impl_item_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of an item in a trait.
pub fn trait_item_attributes(item: &TraitItem) -> &[Attribute] {
    match item {
        TraitItem::Const(item) => &item.attrs,
        TraitItem::Fn(item) => &item.attrs,
        TraitItem::Type(item) => &item.attrs,
        TraitItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_only(code: &str) -> bool {
        let item: Item = syn::parse_str(code).unwrap();
        is_test_only(item_attributes(&item))
    }

    #[test]
    fn predicates_that_hold_only_for_tests() {
        for code in [
            "#[cfg(test)] fn a() {}",
            "#[test] fn a() {}",
            "#[cfg(any(test, feature = \"testing\"))] mod a;",
            "#[cfg(all(test, target_os = \"linux\"))] fn a() {}",
            "#[cfg(not(not(test)))] fn a() {}",
        ] {
            assert!(test_only(code), "{code}");
        }
        for code in [
            "fn a() {}",
            "#[cfg(not(test))] fn a() {}",
            "#[cfg(any(test, target_os = \"linux\"))] fn a() {}",
            "#[cfg(all(not(test), target_os = \"linux\"))] fn a() {}",
            "#[cfg_attr(test, derive(Debug))] struct A;",
        ] {
            assert!(!test_only(code), "{code}");
        }
    }
}
