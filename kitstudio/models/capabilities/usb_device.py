"""``usb-device@1``: USB devices of this computer that match one rule, handed into the sandbox."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kitstudio.models import words
from kitstudio.models.capabilities.contract import CapabilityType, Fact, Grant
from kitstudio.models.capabilities.shape import Reader
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Weight


@dataclass(frozen=True, slots=True)
class UsbDevice:
    vendor: str
    product: str
    device_class: str


CLASSES = {
    "audio": "microphones, speakers and headsets",
    "hid": "keyboards, mice and security keys",
    "mass-storage": "disks and memory sticks",
    "printer": "printers",
    "smart-card": "smart cards and their readers",
    "video": "cameras",
}
"""What a person calls the devices of a class."""


class UsbDeviceType(CapabilityType[UsbDevice]):
    name = "com.docker.sandbox/usb-device@1"
    title = "USB device"
    family = Group.USB
    heaviest = Weight.SERIOUS

    def read(self, fields: Reader) -> UsbDevice:
        return UsbDevice(fields.text("vendorId"), fields.text("productId"), fields.text("class"))

    def values(self, config: UsbDevice, at: str) -> Iterable[Issue]:
        has_pair = bool(config.vendor or config.product)
        if has_pair == bool(config.device_class):
            yield Issue(at, "a USB match is either vendorId with productId, or class")
        if bool(config.vendor) != bool(config.product):
            yield Issue(at, "vendorId and productId go together")

    def project(self, config: UsbDevice) -> Iterable[Fact]:
        return (("usb", _match(config)),)

    def describe(self, config: UsbDevice) -> Iterable[Grant]:
        if config.device_class:
            known = CLASSES.get(config.device_class, "")
            about = f", usually {known}" if known else ""
            sentence = f"Takes over any USB device of the class {words.quoted(config.device_class)}{about}."
            weight = Weight.SERIOUS
        else:
            sentence = "Takes over one model of USB device when it is plugged in."
            weight = Weight.NOTICE
        yield Grant(Group.USB, tuple(self.project(config)), words.exact(_match(config)), sentence, weight, at=".config")


def _match(config: UsbDevice) -> str:
    return f"class:{config.device_class}" if config.device_class else f"{config.vendor}:{config.product}"


TYPE = UsbDeviceType()
