"""Bytes from an engine, cut into events and read as pieces."""
