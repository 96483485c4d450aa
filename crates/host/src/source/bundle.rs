/// placeholder
#[derive(Debug)]
pub struct Bundle;
/// placeholder
#[derive(Debug)]
pub struct BundleError;
/// placeholder
#[derive(Debug)]
pub struct Limits;
