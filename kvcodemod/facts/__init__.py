"""What the code says, as plain frozen data, read from source text and never by importing it."""
