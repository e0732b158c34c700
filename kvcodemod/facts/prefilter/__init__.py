"""Which files can matter, told from their bytes before anything is parsed."""
