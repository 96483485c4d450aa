//! Names of threads and frames.

/// Maximum length of a name, in characters.
const NAME_CHARS_MAX: usize = 300;

/// Returns a thread's name without the node name, and without the index that it is merging.
pub(super) fn pool(name: &str) -> String {
    let Some((_, pool)) = node_and_pool(name) else {
        return cut(name);
    };
    // `[INDEX][0]: Lucene Merge Thread #4`
    cut(pool.rsplit_once("]: ").map_or(pool, |(_, task)| task))
}

/// Returns the node that a thread's name begins with.
pub(super) fn node_of(name: &str) -> Option<String> {
    node_and_pool(name).map(|(node, _)| cut(node))
}

/// Splits `elasticsearch[NODE][POOL]...`.
fn node_and_pool(name: &str) -> Option<(&str, &str)> {
    let rest = ["elasticsearch[", "opensearch["]
        .iter()
        .find_map(|start| name.strip_prefix(start))?;
    let (node, rest) = group(rest)?;
    let (pool, _) = group(rest.strip_prefix('[')?)?;
    Some((node, pool))
}

/// Splits at the bracket that closes the one just opened: the text before it and after it.
fn group(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Extracts `class.method` from a call such as
/// `app//org.elasticsearch.cluster.routing.RoutingNode.shardsWithState`.
pub(super) fn frame(call: &str) -> Option<String> {
    // Strips the class loader and module (`app//`, `java.base@17.0.15/`); but the address of a
    // lambda's class (`Type$$Lambda$12/0x00000008003a.run`) is part of the class name.
    let mut call = call;
    while let Some((before, after)) = call.split_once('/') {
        if before.contains("$$") || after.starts_with("0x") {
            break;
        }
        call = after;
    }
    let name = match call.split_once("$$Lambda") {
        Some((class, rest)) => {
            let method = rest.rsplit_once('.').map_or("", |(_, method)| method);
            format!("{class}$$Lambda.{method}")
        }
        None => call.to_owned(),
    };
    let plain = |c: char| c.is_alphanumeric() || "._$<>-/".contains(c);
    (name.contains('.') && name.chars().all(plain)).then(|| cut(&name))
}

pub(super) fn cut(text: &str) -> String {
    text.chars().take(NAME_CHARS_MAX).collect()
}
