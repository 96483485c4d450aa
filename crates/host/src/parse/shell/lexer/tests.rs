use super::*;
use proptest::prelude::*;

fn texts(source: &str) -> Vec<String> {
    shell(source, 1)
        .into_iter()
        .map(|token| match token.kind {
            Kind::Word(word) => word.script_text(),
            Kind::Operator(operator) => operator,
            Kind::Newline => "\n".to_owned(),
            Kind::HereDocument { lines, .. } => format!("<{lines} lines>"),
        })
        .collect()
}

#[test]
fn quoting_is_undone() {
    assert_eq!(
        texts(r#"a 'b c' "d $E" f\ g ${H}i # no"#),
        ["a", "b c", "d ${E}", "f g", "${H}i"]
    );
    assert_eq!(texts("'unclosed word"), ["unclosed word"]);
    assert_eq!(texts("x=''"), ["x="]);
}

#[test]
fn operators_separate_and_descriptors_belong_to_their_redirection() {
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
fn substitutions_keep_their_text_and_line() {
    let tokens = shell("x=1 \\\n y=\"$(fstrim -v / # it's (a) comment\n)\"", 7);
    let Kind::Word(word) = &tokens[1].kind else {
        panic!("{tokens:?}");
    };
    assert_eq!(tokens[1].line, 8);
    assert_eq!(
        word.scripts().collect::<Vec<_>>(),
        [("fstrim -v / # it's (a) comment\n", 8)]
    );
    assert_eq!(texts("a `b \\`c\\`` d"), ["a", "$(b `c`)", "d"]);
}

#[test]
fn arrays_and_arithmetic_hold_no_commands() {
    assert_eq!(texts("A=(x y) b"), ["A=…", "b"]);
    assert_eq!(texts("echo $((1 + (2))) b"), ["echo", "…", "b"]);
}

#[test]
fn here_documents_are_skipped() {
    assert_eq!(
        texts("cat <<EOF x\nit's\nfstrim\nEOF\nnext"),
        ["cat", "<<", "EOF", "x", "\n", "<2 lines>", "next"]
    );
    assert_eq!(shell("cat <<E\na\nE\nnext", 1)[5].line, 4);
}

#[test]
fn exec_lines_have_no_operators() {
    let words: Vec<String> = plain("/bin/x a&b 'c d' $E `f` ; g")
        .iter()
        .map(Word::script_text)
        .collect();
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
    fn quoting_a_text_gives_it_back(text in "[ -~\n]{1,60}") {
        let quoted = format!("'{}'", text.replace('\'', "'\\''"));
        prop_assert_eq!(&texts(&quoted), std::slice::from_ref(&text));
        let words = plain(&quoted);
        prop_assert_eq!(words.len(), 1);
        prop_assert_eq!(words[0].script_text(), text);
    }
}
