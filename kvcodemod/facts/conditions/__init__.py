"""What holds where a statement stands: options, type tests, handlers, refusals."""
