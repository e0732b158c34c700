"""kvcodemod: SGLang's KV-cache pools survive speculative decoding, with the proof."""

__version__ = "0.1.0"
