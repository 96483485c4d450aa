use super::*;
use crate::parse::shell::lexer;
use proptest::prelude::*;

/// The tree in one line.
fn draw(syntax: &Syntax, nodes: &[Node]) -> String {
    let list = |nodes: &[Node]| draw(syntax, nodes);
    let drawn: Vec<String> = nodes
        .iter()
        .map(|node| match node {
            Node::Simple(words) => syntax
                .words(words)
                .iter()
                .map(|word| word.script_text())
                .collect::<Vec<_>>()
                .join(" "),
            Node::AndOr(first, rest) => {
                let mut text = list(std::slice::from_ref(first));
                for (on_success, node) in rest {
                    text.push_str(if *on_success { " && " } else { " || " });
                    text.push_str(&list(std::slice::from_ref(node)));
                }
                text
            }
            Node::Pipeline { negated, parts } => {
                let parts: Vec<String> = parts
                    .iter()
                    .map(|part| list(std::slice::from_ref(part)))
                    .collect();
                format!("{}{}", if *negated { "! " } else { "" }, parts.join(" | "))
            }
            Node::Group { list: inner, .. } => format!("({})", list(inner)),
            Node::If { arms, otherwise } => {
                let arms: Vec<String> = arms
                    .iter()
                    .map(|(condition, body)| format!("{}? {}", list(condition), list(body)))
                    .collect();
                format!("if[{} : {}]", arms.join(" : "), list(otherwise))
            }
            Node::Maybe { lists, .. } => {
                let lists: Vec<String> = lists.iter().map(|nodes| list(nodes)).collect();
                format!("maybe[{}]", lists.join(" : "))
            }
        })
        .collect();
    drawn.join("; ")
}

fn tree(text: &str) -> String {
    let syntax = Syntax::new(lexer::shell(text, 1));
    draw(&syntax, &syntax.nodes)
}

#[test]
fn lists_and_groups() {
    assert_eq!(
        tree("test -x /a || { cd / && run-parts b; }"),
        "test -x /a || (cd / && run-parts b)"
    );
    assert_eq!(tree("a | b >f 2>&1; ! (c)\nd &"), "a | b; ! (c); d");
}

#[test]
fn compound_commands() {
    assert_eq!(
        tree("if a; then b\nelif c; then d; else e; fi; f"),
        "if[a? b : c? d : e]; f"
    );
    assert_eq!(
        tree("for x in 1 2; do a; done; while b; do c; done <f"),
        "maybe[a]; maybe[b : c]"
    );
    assert_eq!(
        tree("case $x in\n a|b) c;;\n (*) d\nesac\ne"),
        "maybe[c : d]; e"
    );
    assert_eq!(
        tree("f() {\n a\n}\nfunction g { b; }\nf"),
        "maybe[(a)]; maybe[(b)]; f"
    );
    assert_eq!(
        tree("if [[ -d /a && -x /b ]]; then c; fi"),
        "if[[[ -d /a -x /b ]]? c : ]"
    );
}

#[test]
fn wrong_scripts_give_a_tree_too() {
    assert_eq!(tree("fi; a; } ; done b"), "a; b");
    assert_eq!(tree("if a; then b"), "if[a? b : ]");
    assert_eq!(tree("&& a"), " && a");
    let deep = format!("{}a{}", "( ".repeat(500), " )".repeat(500));
    assert!(tree(&deep).contains('a'));
}

proptest! {
    #[test]
    fn total(text in "(if|then|fi|do|done|for|in|case|esac|a|b|\\{|\\}|\\(|\\)|;|;;|&&|\\||\n| |'|\\$\\(|<<E|>x){0,80}") {
        let syntax = Syntax::new(lexer::shell(&text, 1));
        prop_assert_eq!(syntax.roles.len(), syntax.tokens.len());
    }
}
