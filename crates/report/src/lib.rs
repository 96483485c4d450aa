//! Renders findings: text, JSON, Markdown, SARIF, Nagios.
