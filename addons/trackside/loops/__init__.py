"""Detectors of runaway reasoning, one a module, and the monitor that runs them."""
