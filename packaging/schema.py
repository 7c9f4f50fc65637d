"""Write ``resources/schema``: the JSON Schemas editors read, made from the grammar itself.

python packaging/schema.py
"""

from __future__ import annotations

import json
from pathlib import Path

from kitstudio.models.schema import schemas

FOLDER = Path(__file__).parent.parent / "resources" / "schema"


def main() -> None:
    """Write every schema anew and remove what no type stands behind."""
    FOLDER.mkdir(exist_ok=True)
    made = schemas()
    for left in FOLDER.glob("*.schema.json"):
        if left.name not in made:
            left.unlink()
    for name, schema in made.items():
        (FOLDER / name).write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
