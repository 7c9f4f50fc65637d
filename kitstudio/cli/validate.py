"""``validate``: the grammar on a file, and on a published Kit the checks of its artifact too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, FAILED
from kitstudio.models.artifact import conforms
from kitstudio.models.artifact_view import Check, Verdict
from kitstudio.models.decode import decode
from kitstudio.models.diagnostics import locate, render, render_error
from kitstudio.models.document import DecodeError, Document
from kitstudio.models.validate import Form, Report
from kitstudio.models.validate import validate as judge
from kitstudio.registry.folder import read_folder
from kitstudio.registry.reference import FolderLocation, parse_location
from kitstudio.services.artifact_checks import PlatformChecks
from kitstudio.services.cards import not_a_kit
from kitstudio.services.readable import readable

if TYPE_CHECKING:
    from kitstudio.cli.main import Run


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is judged: its name, the text, the form where none is asked for, the checks of an artifact by platform."""

    name: str
    text: str
    form: Form
    outcomes: tuple[PlatformChecks, ...] = ()

    def checks(self) -> Iterator[tuple[Check, str]]:
        """Every check with the platforms it speaks of; no platforms where all agree."""
        for outcome in self.outcomes:
            shown = ", ".join(outcome.platforms) if len(self.outcomes) > 1 else ""
            yield from ((check, shown) for check in outcome.checks)


async def validate(run: Run) -> int:
    """Exit 1 where it is not valid."""
    subject = await _subject(run)
    form = Form(run.args.form) if run.args.form else subject.form
    try:
        document = decode(subject.text, name=subject.name)
    except DecodeError as error:
        return _undecoded(run, subject, error)
    if form is not Form.AUTHORED and subject.outcomes:
        # A registry's one line of JSON has no lines to point at: the same descriptor as it is shown elsewhere has.
        document = readable(document.descriptor, subject.name)
    report = judge(document, form)
    valid = report.valid and conforms(check for check, _ in subject.checks())
    run.output.document(
        {
            "valid": valid,
            "errors": [_located(document, issue.path, issue.message) for issue in report.errors],
            "warnings": [_located(document, issue.path, issue.message) for issue in report.warnings],
            "checks": [_judged(check, shown) for check, shown in subject.checks()],
        }
    )
    _tell(run, subject, document, report, form, valid)
    return DONE if valid else FAILED


async def _subject(run: Run) -> _Subject:
    location = parse_location(run.args.reference, Path.cwd())
    if isinstance(location, FolderLocation):
        kit = await read_folder(location.path)
        return _Subject(str(kit.path), kit.text, Form.AUTHORED)
    studio = await run.studio()
    artifact, outcomes = await studio.catalog.checked(run.args.reference)
    if not artifact.descriptor_text:
        raise not_a_kit(artifact)
    return _Subject(str(artifact.reference), artifact.descriptor_text, Form.PUBLISHED, outcomes)


def _undecoded(run: Run, subject: _Subject, error: DecodeError) -> int:
    """A decode error has no path, at most a place."""
    line, column = (error.position.line, error.position.column) if error.position else (None, None)
    found = {"path": "", "message": error.what, "line": line, "column": column}
    run.output.document({"valid": False, "errors": [found], "warnings": [], "checks": []})
    run.output.say(render_error(error, subject.text))
    return FAILED


def _judged(check: Check, platforms: str) -> dict[str, object]:
    found: dict[str, object] = {"id": check.id, "verdict": check.verdict.value, "detail": check.detail}
    return {**found, "platforms": platforms} if platforms else found


def _located(document: Document, path: str, message: str) -> dict[str, object]:
    position = locate(document, path)
    return {"path": path, "message": message, "line": position.line, "column": position.column}


def _tell(run: Run, subject: _Subject, document: Document, report: Report, form: Form, valid: bool) -> None:
    for heading, issues in (("", report.errors), ("warning: ", report.warnings)):
        for issue in issues:
            run.output.say(f"{heading}{render(document, (issue,))}\n")
    told = [(check, shown) for check, shown in subject.checks() if check.verdict is not Verdict.PASS]
    run.output.table(
        (check.verdict.value, check.id, f"{check.detail} ({shown})" if shown else check.detail) for check, shown in told
    )
    kind = document.descriptor.kind or "no kind"
    count = len(report.errors) + sum(check.verdict is Verdict.FAIL for check, _ in told)
    run.output.say(
        f"{subject.name} is valid ({kind}, {form.value} form)."
        if valid
        else f"{subject.name} is not valid: {count} error{'s' if count > 1 else ''}."
    )
