"""What a piece of source says by itself: parsing, names, walking, scopes, lines."""
