"""The parts of `scripts/diff.py`."""
