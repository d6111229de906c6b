"""``python -m polymeans`` is the command ``polymeans``."""

import sys

from polymeans.cli import main

if __name__ == "__main__":
    sys.exit(main())
