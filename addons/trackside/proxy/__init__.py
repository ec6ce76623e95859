"""The only part of the library that imports mitmproxy."""
