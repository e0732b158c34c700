"""What an expression can be: one evaluator."""
