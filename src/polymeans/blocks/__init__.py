"""Rows that are not in memory, as blocks that can be read one at a time and again.

Readers open files of several formats and decide which rows make a block; ``checked.py`` compares
every block that is read with what was announced. A reader is imported when it is first used, and a
library for files when one of them is opened.
"""

from typing import TYPE_CHECKING

from polymeans._late_names import late_names
from polymeans.blocks.protocol import Blocks
from polymeans.blocks.read_ahead import read_ahead

if TYPE_CHECKING:  # what late_names is told, for type checkers
    from polymeans.blocks.arrow import from_arrow
    from polymeans.blocks.csr_files import from_csr_files
    from polymeans.blocks.hdf5 import from_hdf5
    from polymeans.blocks.labels import label_blocks, write_labels
    from polymeans.blocks.npy import from_npy
    from polymeans.blocks.parquet import from_parquet
    from polymeans.blocks.sequence import from_sequence
    from polymeans.blocks.zarr import from_zarr

__all__ = [
    "Blocks",
    "from_arrow",
    "from_csr_files",
    "from_hdf5",
    "from_npy",
    "from_parquet",
    "from_sequence",
    "from_zarr",
    "label_blocks",
    "read_ahead",
    "write_labels",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "from_arrow": "polymeans.blocks.arrow",
        "from_csr_files": "polymeans.blocks.csr_files",
        "from_hdf5": "polymeans.blocks.hdf5",
        "from_npy": "polymeans.blocks.npy",
        "from_parquet": "polymeans.blocks.parquet",
        "from_sequence": "polymeans.blocks.sequence",
        "from_zarr": "polymeans.blocks.zarr",
        "label_blocks": "polymeans.blocks.labels",
        "write_labels": "polymeans.blocks.labels",
    },
)
