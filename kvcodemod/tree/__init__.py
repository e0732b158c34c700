"""Finding the SGLang package behind a path, reading its bytes, writing all of it or nothing."""
