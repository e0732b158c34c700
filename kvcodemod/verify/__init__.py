"""The proof: a worker in the target's Python imports the tree and moves KV in it."""
