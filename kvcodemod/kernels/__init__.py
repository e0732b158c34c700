"""The Triton kernel as a real importable module; its own source text is injected."""
