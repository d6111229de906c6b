"""The commands of ``polymeans``: one module for each, and what they share.

A command's module has ``add(commands)``, which declares its options and imports nothing but
argparse, and ``run(options)``, which imports what it needs. Only :mod:`polymeans.commands.terminal`
prints. Nothing else in the package imports these modules.
"""

#: Modules of the commands, in the order of the help text.
COMMANDS = (
    "fit",
    "predict",
    "describe",
    "choose",
    "compare",
    "report",
    "info",
    "warmup",
    "demo",
)
