"""``schema``: the JSON Schema of the descriptor, or of one capability's config, for an editor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, UsageError
from kitstudio.models.errors import DescriptorError
from kitstudio.models.schema import capability_schema, descriptor_schema

if TYPE_CHECKING:
    from kitstudio.cli.main import Run

_EDITORS = """\
Save it, for example as kit.schema.json, and begin the descriptor with
  # yaml-language-server: $schema=kit.schema.json
or name both under “yaml.schemas” in the settings of an editor with a YAML language server.
The schema sees one field at a time: “kitstudio validate FILE” judges the whole."""


async def schema(run: Run) -> int:
    """The schema on standard output, as JSON with or without ``--json``; how to use it for a reader."""
    try:
        found = capability_schema(run.args.type) if run.args.type else descriptor_schema()
    except DescriptorError as error:
        raise UsageError(error.what, remedy=error.remedy) from error
    if run.output.as_json:
        run.output.document(found)
    else:
        print(json.dumps(found, indent=2), file=run.output.out)
    run.output.note(_EDITORS)
    return DONE
