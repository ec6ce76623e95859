"""Real agents, headless, in front of a scripted engine."""
