"""kvcodemod: make SGLang's KV-cache pools survive speculative decoding, and prove it."""

__version__ = "0.1.0"
