"""Path sets, the call graph, shortest chains, the outcome of each reachable call."""
