"""``python -m kitstudio``: the same program as the ``kitstudio`` script."""

from kitstudio.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
