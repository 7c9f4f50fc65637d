"""``kit-registry@1``: a route to the registry the runtime keeps for Kits."""

from __future__ import annotations

from kitstudio.models.capabilities.flags import Flag
from kitstudio.models.weights import Weight


class KitRegistry(Flag):
    name = "com.docker.sandbox/kit-registry@1"
    title = "Kit registry"
    entry = "kit-registry"
    sentence = "Reads and publishes Kits in this computer's own Kit registry."
    weight = Weight.SERIOUS


TYPE = KitRegistry()
