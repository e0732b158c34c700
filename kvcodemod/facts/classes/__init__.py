"""The class table: C3 order, constructors, signatures, uses, roles."""
