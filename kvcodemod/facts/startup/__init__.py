"""How a class comes to be built and what start-up refuses."""
