"""Finding the SGLang package, reading its bytes, writing all of it or nothing."""
