"""Features whose products approximate a kernel, from centroids as landmarks."""

from polymeans.landmarks.hadamard import HadamardNystroem
from polymeans.landmarks.nystroem import ClusterNystroem
from polymeans.landmarks.nystroem_error import nystroem_error

__all__ = ["ClusterNystroem", "HadamardNystroem", "nystroem_error"]
