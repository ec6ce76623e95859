"""The turn record, cache state, verdict and their storage."""
