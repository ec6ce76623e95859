"""Engines that need nothing but this machine: the embedded one and the playing one."""
