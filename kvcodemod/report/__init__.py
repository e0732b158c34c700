"""Findings, plans and tables into words: one output format a file."""
