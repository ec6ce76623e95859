"""What follows a trip: how the engine is asked to go on, and how the two streams become one."""
