"""How fast the grammar is (§1.2, §5.3, §7.4, §9.3): ratios of one run on one machine, so that they can be compared.

    python -m benchmarks.grammar [--profile]

Two ways through a text are timed one after the other, text by text, so that a busy machine slows both alike; each
figure is the median of several rounds, with what collecting garbage costs. Nothing is kept between rounds: each
decodes its text anew, and each set is made of descriptors of its own.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kitstudio.models.canonical import encode
from kitstudio.models.compose import compose
from kitstudio.models.decode import decode, decode_yaml
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import DescriptorError
from kitstudio.models.reconcile import Contribution
from kitstudio.models.resolve import Unit, resolve
from kitstudio.models.surface import diff_widenings, project
from kitstudio.models.validate import Form, validate

CASES = Path(__file__).parent.parent / "tests" / "conformance"
ROUNDS = 7
_FORMS = {"published": Form.PUBLISHED, "effective": Form.EFFECTIVE}
_WITHOUT_DESCRIPTOR = {"version-compare", "provide", "require", "tag-version", "ref-version", "package-version"} | {
    "satisfies",
    "dpkg",
    "apk",
    "latest",
}


def main() -> None:
    """Print every figure beside its bound."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--profile", action="store_true", help="where the time of decoding and judging goes")
    texts = [pair for pair in corpus() if _decodes(pair[0])]
    if arguments.parse_args().profile:
        _profile(lambda: [_yaml_path(*pair) for pair in texts] and None)
        return
    characters = sum(len(text) for text, _ in texts)
    print(f"{len(texts)} texts of the judged cases, {characters / 1e6:.1f} million characters")
    ratio = _ratio(texts, _yaml_path, lambda text, _: yaml.compose(text, Loader=yaml.CSafeLoader))
    print(f"decode + validate + positions : yaml.compose       {ratio:6.2f}   at most 4")

    published = [(encode(decode(text).descriptor), Form.PUBLISHED) for text, _ in texts if _is_published(text)]
    ratio = _ratio(published, _yaml_path, _published_path)
    print(f"YAML path : JSON path, {len(published)} published texts      {ratio:6.2f}   at least 2")
    ratio = _ratio(published, lambda text, _: decode_yaml(text).positions, lambda text, _: decode(text))
    print(f"the same without judging                           {ratio:6.2f}")

    small, large = (statistics.median(_set_seconds(count) for _ in range(ROUNDS)) for count in (50, 1000))
    print(f"resolve + compose + surface + diff, 50 Kits    {small * 1e3:6.1f} ms   at most 16")
    growth = f"{large / small:.0f} × the time for 20 × the Kits"
    print(f"the same, 1000 Kits                            {large * 1e3:6.1f} ms   {growth}")


def corpus() -> Iterator[tuple[str, Form]]:
    """Every descriptor text of the judged cases, with the form it is judged as."""
    for path in sorted(CASES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            yield from _texts(case["op"], case.get("in") or {})


def _texts(op: str, given: Mapping[str, Any]) -> Iterator[tuple[str, Form]]:
    if op in _WITHOUT_DESCRIPTOR:
        return
    for key in ("text", "a", "b"):
        if isinstance(given.get(key), str):
            yield given[key], _FORMS.get(op, Form.AUTHORED)
    for unit in given.get("units") or ():
        if unit.get("descriptor"):
            yield unit["descriptor"], Form.PUBLISHED


def _decodes(text: str) -> bool:
    try:
        decode(text)
    except DescriptorError:
        return False
    return True


def _is_published(text: str) -> bool:
    """True when the descriptor, published, would be valid."""
    descriptor = decode(text).descriptor
    try:
        return validate(decode(encode(descriptor)), Form.PUBLISHED).valid
    except DescriptorError:
        return False


def _yaml_path(text: str, form: Form) -> None:
    document = decode_yaml(text)
    validate(document, form)
    len(document.positions)


def _published_path(text: str, form: Form) -> None:
    validate(decode(text), form)


def _ratio(
    texts: Sequence[tuple[str, Form]], ours: Callable[[str, Form], object], theirs: Callable[[str, Form], object]
) -> float:
    ratios = []
    for _ in range(ROUNDS):
        spent = [0.0, 0.0]
        for text, form in texts:
            for index, way in enumerate((ours, theirs)):
                start = time.thread_time()
                way(text, form)
                spent[index] += time.thread_time() - start
        ratios.append(spent[0] / spent[1])
    return statistics.median(ratios)


def _set_seconds(count: int) -> float:
    kits = list(_set(count, "1.0.0"))
    newer = list(_set(count, "1.1.0"))
    gc.collect()
    start = time.thread_time()
    resolution = resolve([Unit(reference, kit) for reference, kit in kits])
    if not resolution.ok:
        raise AssertionError(resolution.problems[0].message)
    composed = compose([Contribution(*kits[index]) for index in resolution.ordered])
    seconds = time.thread_time() - start
    granted = project(compose([Contribution(*kit) for kit in newer]))
    start = time.thread_time()
    diff_widenings(granted, project(composed))
    return seconds + time.thread_time() - start


def _set(count: int, version: str) -> Iterator[tuple[str, Descriptor]]:
    """A workload and mixins that each need the one before, with hosts, a credential, a hook and a volume."""
    for index in range(count):
        kind = "mixin" if index else "workload"
        needs = f"requires: [kit{index - 1}]\nintegrates: [kit0]" if index else ""
        text = f"""
schemaVersion: "3"
kind: {kind}
version: "{version}"
provides: [kit{index}]
{needs}
capabilities:
- type: com.docker.sandbox/network-policy@1
  config: {{runtime: {{allow: [shared.example, "a{index}.example:443", "v{version[2]}.b{index}.example"]}}}}
- type: com.docker.sandbox/credential@1
  config: {{service: s{index}, phase: runtime, apiKey: {{name: KEY{index}, proxyManaged: true, inject: [
    {{domain: "a{index}.example", header: Authorization, format: "Bearer %s"}}]}}}}
- type: com.docker.sandbox/volume@1
  config: {{path: /data/{index}}}
- type: com.docker.sandbox/lifecycle@1
  config: {{install: [{{command: "echo {index}"}}]}}
"""
        yield f"bench.invalid/kit{index}:{version}", decode(text).descriptor


def _profile(work: Callable[[], object]) -> None:
    profile = cProfile.Profile()
    profile.runcall(work)
    pstats.Stats(profile).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
