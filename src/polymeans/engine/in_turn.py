"""What visits of one pass share where they are made one after the other in one process."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from polymeans.codebooks.base import Centroids, NumeratorsTable
from polymeans.core.statistics import CellStatistics
from polymeans.engine.sparse_assigners import CentroidTable


@dataclass
class InTurn:
    """Totals that every visit adds to, and a table of the centroids that every visit reads.

    For documents both have as many numbers as all centroids, more than many a block of rows has:
    making them anew for each block, and adding up what was made, took as long as labeling. They
    cannot be sent to where a block is, so only passes inside of this process have them.
    """

    codebook: NumeratorsTable
    totals: CellStatistics  #: of rows visited before; of all rows under their labels before

    @cached_property
    def table(self) -> CentroidTable:
        """The centroids feature by feature."""
        return CentroidTable(self.codebook)

    @staticmethod
    def serves(codebook: Centroids, is_sparse: bool, guarded: bool) -> TypeGuard[NumeratorsTable]:
        """Whether it saves anything: where sums of clusters of sparse rows are asked for."""
        return is_sparse and codebook.needs == "cells" and codebook.kind == "table" and not guarded
