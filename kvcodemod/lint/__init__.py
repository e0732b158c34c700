"""Running rules over the facts, suppressions and the baseline."""
