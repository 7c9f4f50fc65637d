"""Makes the builders beside this file importable from the folders below it."""
