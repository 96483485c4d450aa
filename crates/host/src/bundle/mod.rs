//! Bundles: writing and anonymising them.
