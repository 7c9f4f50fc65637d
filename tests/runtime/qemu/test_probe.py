"""The acceleration is what really boots."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.guest.image import find_guest_image
from kitstudio.runtime.qemu import probe


async def test_without_the_device_it_is_software_emulation(tmp_path: Path) -> None:
    found = await probe.acceleration(find_guest_image(), tmp_path, device=tmp_path / "no-kvm")
    assert found.kind == "tcg" and "no-kvm" in found.reason


async def test_the_answer_is_kept_per_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials: list[str] = []

    async def boots(guest: object, kind: str, limit: float) -> tuple[bool, str]:
        trials.append(kind)
        return len(trials) == 1, ""

    monkeypatch.setattr(probe, "boots", boots)
    device = tmp_path / "kvm"
    device.touch()
    first = await probe.acceleration(find_guest_image(), tmp_path, device=device)
    again = await probe.acceleration(find_guest_image(), tmp_path, device=device)
    assert first == again and first.kind == "kvm" and trials == ["kvm"]


async def test_a_kvm_that_does_not_boot_the_kernel_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def boots(guest: object, kind: str, limit: float) -> tuple[bool, str]:
        return False, "KVM internal error"

    monkeypatch.setattr(probe, "boots", boots)
    device = tmp_path / "kvm"
    device.touch()
    found = await probe.acceleration(find_guest_image(), tmp_path / "state", device=device)
    assert found.kind == "tcg" and "KVM internal error" in found.reason


async def test_missing_qemu_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="not installed"):
        await probe.acceleration(find_guest_image(), tmp_path)


@pytest.mark.vm
async def test_the_kernel_reaches_its_init_under_emulation() -> None:
    assert (await probe.boots(find_guest_image(), "tcg", 30))[0]
