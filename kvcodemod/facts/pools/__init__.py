"""Composite pools: sub-pools, buffers, movers, ownership."""
