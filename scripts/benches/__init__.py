"""What `scripts/bench.py` measures, one subject a module."""
