"""`mechlearn` and `python -m mechlearn`: Ctrl-C ends them with a sentence while commands still load, too."""

import sys


def main() -> int:
    """Run one command and return its exit status."""
    try:
        from mechlearn.cli import main as command  # noqa: PLC0415  # takes a tenth of a second
    except KeyboardInterrupt:
        print("mechlearn: stopped by Ctrl-C", file=sys.stderr)
        return 130
    return command()


if __name__ == "__main__":
    sys.exit(main())
