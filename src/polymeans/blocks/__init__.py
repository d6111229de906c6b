"""Rows that are not in memory, as blocks that can be read one at a time and again.

Readers open files of several formats and decide which rows make a block; ``checked.py`` compares
every block that is read with what was announced. Libraries for files are imported when one of
their files is opened.
"""

from polymeans.blocks.arrow import from_arrow
from polymeans.blocks.csr_files import from_csr_files
from polymeans.blocks.hdf5 import from_hdf5
from polymeans.blocks.labels import label_blocks, write_labels
from polymeans.blocks.npy import from_npy
from polymeans.blocks.parquet import from_parquet
from polymeans.blocks.protocol import Blocks
from polymeans.blocks.read_ahead import read_ahead
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
