//! statfs and geometry, asked in a child process so that a hung mount cannot hang the audit.
