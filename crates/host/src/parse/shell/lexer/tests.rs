use super::*;
use proptest::prelude::*;

fn texts(source: &str) -> Vec<String> {
    drawn(&shell(source, 1))
}

fn drawn(tokens: &[Token]) -> Vec<String> {
    let draw = |token: &Token| match &token.kind {
        Kind::Word(word) => drawn_word(word),
        Kind::Operator(operator) => operator.clone(),
        Kind::Newline => "\n".to_owned(),
        Kind::HereDocument { lines, .. } => format!("<{lines} lines>"),
    };
    tokens.iter().map(draw).collect()
}

fn drawn_word(word: &Word) -> String {
    word.segments.iter().map(draw_segment).collect()
}

fn draw_segment(segment: &Segment) -> String {
    match segment {
        Segment::Literal { text, .. } => text.clone(),
        Segment::Variable(name) => format!("${{{name}}}"),
        Segment::Script(tokens) => format!("$({})", drawn(tokens).join(" ")),
        Segment::Arithmetic(inner) => format!("$(({}))", drawn_word(inner)),
        Segment::Opaque => "…".to_owned(),
    }
}

#[test]
fn quoting_is_removed() {
    assert_eq!(
        texts(r#"a 'b c' "d $E" f\ g ${H}i # no"#),
        ["a", "b c", "d ${E}", "f g", "${H}i"]
    );
    assert_eq!(texts("'unclosed word"), ["unclosed word"]);
    assert_eq!(texts("x=''"), ["x="]);
}

#[test]
fn operators_separate_words_and_redirections_include_descriptors() {
    assert_eq!(
        texts("a&&b||c;d|e >/dev/null 2>&1 &"),
        [
            "a",
            "&&",
            "b",
            "||",
            "c",
            ";",
            "d",
            "|",
            "e",
            ">",
            "/dev/null",
            "2>&",
            "1",
            "&"
        ]
    );
    assert_eq!(texts("curl http://h/?a&b=c"), ["curl", "http://h/?a&b=c"]);
}

#[test]
fn substitutions_hold_commands_with_their_lines() {
    let tokens = shell("x=1 \\\n y=\"$(fstrim -v / # it's (a) comment\n)\"", 7);
    let Kind::Word(word) = &tokens[1].kind else {
        panic!("{tokens:?}");
    };
    assert_eq!(tokens[1].line, 8);
    let Some(Segment::Script(inner)) = word.segments.last() else {
        panic!("{word:?}");
    };
    assert_eq!(drawn(inner), ["fstrim", "-v", "/", "\n"]);
    assert_eq!(inner[0].line, 8);
    assert_eq!(texts("a `b \\`c\\`` d"), ["a", "$(b $(c))", "d"]);
    assert_eq!(texts("a $(b (c) \")\") d"), ["a", "$(b ( c ) ))", "d"]);
}

#[test]
fn arrays_hold_no_commands_and_arithmetic_only_substituted_ones() {
    assert_eq!(texts("A=(x y) b"), ["A=…", "b"]);
    assert_eq!(texts("echo $((1 + (2))) b"), ["echo", "$((1 + (2)))", "b"]);
    assert_eq!(
        texts("[ $(( $(date +%s) / 604800 % 2 )) -eq 0 ]"),
        ["[", "$(( $(date +%s) / 604800 % 2 ))", "-eq", "0", "]"]
    );
    // No arithmetic, and unclosed.
    assert_eq!(texts("$((a) | b) c"), ["$((a) | b))", "c"]);
    assert_eq!(texts("$((1 + `a"), ["$((1 + $(a)))"]);
}

#[test]
fn here_documents_are_skipped() {
    assert_eq!(
        texts("cat <<EOF x\nit's\nfstrim\nEOF\nnext"),
        ["cat", "<< EOF", "x", "\n", "<2 lines>", "next"]
    );
    assert_eq!(shell("cat <<E\na\nE\nnext", 1)[4].line, 4);
}

#[test]
fn deep_nesting_is_ignored() {
    assert_eq!(
        texts(&format!("a {}", "$(b ".repeat(NESTING_MAX + 1))).len(),
        2
    );
    assert_eq!(
        texts(&format!("a {} c", "${x:-".repeat(NESTING_MAX + 1))).len(),
        2
    );
}

#[test]
fn exec_lines_have_no_operators() {
    let words = drawn(&plain("/bin/x a&b 'c d' $E `f` ; g"));
    assert_eq!(words, ["/bin/x", "a&b", "c d", "${E}", "`f`", ";", "g"]);
}

proptest! {
    #[test]
    fn total_and_lines_ascend(text in "[a-z '\"$(){}<>|&;`\\\\#=\n…]{0,200}") {
        let tokens = shell(&text, 1);
        let lines = text.matches('\n').count() + 1;
        prop_assert!(tokens.windows(2).all(|pair| pair[0].line <= pair[1].line));
        prop_assert!(tokens.iter().all(|token| token.line <= lines));
        plain(&text);
    }

    #[test]
    fn quoting_round_trips(text in "[ -~\n]{1,60}") {
        let quoted = format!("'{}'", text.replace('\'', "'\\''"));
        prop_assert_eq!(&texts(&quoted), std::slice::from_ref(&text));
        prop_assert_eq!(drawn(&plain(&quoted)), [text]);
    }
}
