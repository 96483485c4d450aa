//! Tables for people.

/// Right-aligned columns under their names; the first `left` columns are left-aligned.
pub fn text(head: &[&str], rows: &[Vec<String>], left: usize) -> String {
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            // A name may stand in two lines, divided by a line break.
            let name = head[column].lines().map(|line| line.chars().count());
            widest.max(name.max().unwrap_or(0))
        })
        .collect();
    let line = |cells: Vec<&str>| {
        let mut out = String::new();
        for (column, cell) in cells.into_iter().enumerate() {
            let width = widths[column];
            let cell = if column < left {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            };
            if column > 0 {
                out += "  ";
            }
            out += &cell;
        }
        out.trim_end().to_owned() + "\n"
    };
    let lines = head
        .iter()
        .map(|name| name.lines().count())
        .max()
        .unwrap_or(1);
    let mut out = String::new();
    for index in 0..lines {
        let names = head.iter().map(|name| {
            let above = lines - name.lines().count();
            let own = index.checked_sub(above);
            own.and_then(|own| name.lines().nth(own)).unwrap_or("")
        });
        out += &line(names.collect());
    }
    for row in rows {
        out += &line(row.iter().map(String::as_str).collect());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = vec![
            vec!["7 %".to_owned(), "weekly".to_owned(), "3.90".to_owned()],
            vec!["28 %".to_owned(), "daily".to_owned(), "11.20".to_owned()],
        ];
        assert_eq!(
            text(&["spare", "trim", "write\nampl."], &rows, 2),
            "               write\nspare  trim    ampl.\n7 %    weekly   3.90\n28 %   daily   11.20\n"
        );
    }
}
