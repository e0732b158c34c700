"""The proof: a worker imports the rewritten tree in its own Python and compares every buffer."""
