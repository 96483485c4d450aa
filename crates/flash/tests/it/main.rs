//! Compares the simulation with papers and an article.

mod blocks;
mod parsing;
mod reference;
