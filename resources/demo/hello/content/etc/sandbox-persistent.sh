# Sourced by every bash that runs without a terminal: what should outlive one command goes here.
