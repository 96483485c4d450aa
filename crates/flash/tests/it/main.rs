//! Compares the simulation with papers and an article.

mod blocks;
mod pages;
mod parsing;
mod reference;
