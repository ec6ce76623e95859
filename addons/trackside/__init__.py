"""The library behind the addons: what bytes mean, apart from any proxy."""
