"""What follows a trip: how the engine goes on, and how two streams become one."""
