//! `ps alxwww`, `ps auxwww`, with threads (`m`) or without, and `ps -ef`.

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Process id.
    pub pid: u32,
    /// The parent's, if there is a column for it.
    pub parent_pid: Option<u32>,
    /// The command line, its arguments separated by spaces.
    pub command_line: String,
}

impl Line {
    /// Returns the file name of the program, as `comm` shows it (proc(5): at most 15 bytes).
    pub fn comm(&self) -> &str {
        let program = self.command_line.split(' ').next().unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or(program);
        let end = (0..=name.len().min(15))
            .rev()
            .find(|&at| name.is_char_boundary(at));
        &name[..end.unwrap_or(0)]
    }
}

/// Parses the processes; threads and the kernel's own (`[kthreadd]`) are left out. `None` if there
/// is no heading with a PID, whose last column is the command.
pub fn parse(text: &str) -> Option<Vec<Line>> {
    let mut lines = text.lines();
    let (columns, pid_at, parent_at) = lines.by_ref().find_map(|line| {
        let names: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = |wanted: &str| names.iter().position(|&name| name == wanted);
        let is_command = matches!(names.last(), Some(&("COMMAND" | "CMD")));
        Some((names.len(), at("PID").filter(|_| is_command)?, at("PPID")))
    })?;
    let parsed = lines.filter_map(|line| {
        let (fields, command_line) = split(line, columns - 1)?;
        let line = Line {
            pid: fields[pid_at].parse().ok()?,
            parent_pid: parent_at.and_then(|at| fields[at].parse().ok()),
            command_line: command_line.to_owned(),
        };
        (!line.command_line.starts_with('[')).then_some(line)
    });
    Some(parsed.collect())
}

/// Splits off a number of words.
fn split(line: &str, words: usize) -> Option<(Vec<&str>, &str)> {
    let mut fields = Vec::with_capacity(words);
    let mut rest = line.trim_start();
    for _ in 0..words {
        let end = rest.find(char::is_whitespace)?;
        fields.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    let rest = rest.trim_end();
    (!rest.is_empty()).then_some((fields, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_forms_that_sos_keeps() {
        let with_threads = "\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root           2  0.0  0.0      0     0 ?        -    Feb09   0:00 [kthreadd]
root           -  0.0    -      -     - -        S    Feb09   0:00 -
mongod       812  2.1  9.0 175184 17464 ?        -    Feb09  90:38 /usr/bin/mongod -f /etc/mongod.conf
mongod         -  2.1    -      -     - -        Ssl  Feb09  90:38 -
";
        let lines = parse(with_threads).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].pid, lines[0].parent_pid), (812, None));
        assert_eq!(lines[0].command_line, "/usr/bin/mongod -f /etc/mongod.conf");
        assert_eq!(lines[0].comm(), "mongod");
        let long = "\
F   UID   PID  PPID PRI  NI    VSZ   RSS WCHAN  STAT TTY        TIME COMMAND
4     0     1     0  20   0  43396 13672 -      SLl  ?          2:17 /usr/lib/systemd/systemd --system
4   112   900     1  20   0  43396 13672 ep_pol Ssl  ?          2:17 /usr/share/elasticsearch/jdk/bin/java -Xms1g
";
        let lines = parse(long).unwrap();
        assert_eq!((lines[1].pid, lines[1].parent_pid), (900, Some(1)));
        assert_eq!(lines[1].comm(), "java");
        assert_eq!(parse("ps: command not found\n"), None);
    }

    proptest! {
        #[test]
        fn total(text in "(PID|PPID|COMMAND|[0-9-]{1,12}|[a-zé/]{1,20}|\\[| |\n){0,40}") {
            for line in parse(&text).unwrap_or_default() {
                prop_assert!(line.comm().len() <= 15);
            }
        }
    }
}
