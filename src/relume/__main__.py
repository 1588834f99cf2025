"""`python -m relume` and the `relume` script."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from relume.cli import main as run

    run()


if __name__ == "__main__":
    main()
