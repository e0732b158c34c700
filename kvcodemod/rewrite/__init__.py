"""The plan (which edits, where, and why not elsewhere), the edits, the check."""
