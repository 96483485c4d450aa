//! Reads histories into [series](facts::series::Series).
