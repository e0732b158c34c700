"""Which servers start: options, their values, and what start-up makes of them."""
