"""Writes the published descriptions into `docs/`; with `--check` it only says which are stale."""

from __future__ import annotations

import sys

from everturn_local.openapi.pages import pages, stale_pages, write_pages

if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        stale = stale_pages(pages())
        sys.exit(f"run `make openapi`: {', '.join(path.name for path in stale)}" if stale else 0)
    for path in write_pages():
        print(path.name)
