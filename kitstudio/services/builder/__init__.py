"""A builder for recipes that need nothing to be run (see docs/local-kits.md)."""
