"""Triton kernels as real importable modules; their own source text is what gets injected."""
