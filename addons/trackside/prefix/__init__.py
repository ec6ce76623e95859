"""How a request continues an earlier one: spans, threads, breaks, causes."""
