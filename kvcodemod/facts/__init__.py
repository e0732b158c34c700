"""What the code says, as frozen data, read from source text, never by import."""
