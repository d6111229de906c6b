"""What estimators with centroids differ in: the methods that a subclass gives, or may change."""

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from polymeans._rows import RowsInfo
from polymeans.codebooks.base import BaseCodebook
from polymeans.core.frame import Frame
from polymeans.engine.lloyd import Run


class EstimatorHooks(ABC):
    """Methods that :class:`~polymeans._base.CentroidEstimator` calls."""

    tol: Any  #: parameter of all estimators

    # --- what subclasses give ----------------------------------------------------------------

    @property
    @abstractmethod
    def _n_requested(self) -> int:
        """Number of centroids that the parameters ask for."""

    @abstractmethod
    def _check_own_parameters(self) -> None:
        """Raise if a parameter cannot be used, whatever the rows are."""

    @abstractmethod
    def _check_start(self, info: RowsInfo) -> Any:
        """The start: a method's name, a callable, or vectors or labels checked for these rows."""

    @abstractmethod
    def _n_runs(self, start: Any) -> int:
        """How many starts to make."""

    @abstractmethod
    def _start(self, state: Any) -> BaseCodebook:
        """The codebook of one start."""

    @abstractmethod
    def _vectors(self, codebook: Any, state: Any) -> dict[str, Any]:
        """Attributes that methods of a fitted estimator need, for callbacks during a fit."""

    @abstractmethod
    def _attributes(self, run: Run, state: Any) -> dict[str, Any]:
        """Everything a fit leaves on the estimator."""

    @abstractmethod
    def _fitted_vectors(self) -> list[NDArray[Any]]:
        """What the fitted centroids are made of."""

    @abstractmethod
    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        """The fitted centroids, for rows of this frame."""

    @abstractmethod
    def _warn(self, run: Run) -> None:
        """Warn about an outcome that is likely not what was meant."""

    # --- what subclasses may change ----------------------------------------------------------

    @property
    def _spherical(self) -> bool:
        """Whether rows count by their direction only."""
        return False

    @property
    def _algorithm(self) -> str:
        """How labels are found, where there is a choice."""
        return "auto"

    def _fix_parameters(self) -> None:  # noqa: B027 (doing nothing is the default)
        """Keep the parameters that say what fitted vectors mean: they may change after a fit."""

    def _check_blocks_suffice(self) -> None:  # noqa: B027 (doing nothing is the default)
        """Raise if a parameter needs all rows at the same time."""

    @property
    def _block_multiple(self) -> int:
        """Rows at a multiple of which blocks have to begin."""
        return 1

    def _find_space(self, state: Any) -> None:  # noqa: B027 (doing nothing is the default)
        """Replace the state's rows by these in the coordinates they are clustered in."""

    def _into_space(self, X: Any) -> Any:
        """Rows in the coordinates the fit has chosen."""
        return X

    def _refined(self, run: Run, state: Any) -> Run:
        """The outcome of a start, improved by other means than Lloyd's loop."""
        return run

    def _passes(self) -> int:
        """Work of a fit, in multiples of one pass of plain k-means over the rows."""
        return 1

    @property
    def _shift_tol(self) -> float:
        """Shift of the centroids, relative to the spread of the rows, at which to stop."""
        return float(self.tol)

    def _label_table(self) -> NDArray[Any] | None:
        """Centroids in the users' coordinates, if the nearest is the label; None otherwise.

        New dense rows are then labeled in one pass.
        """
        return None

    def _kind_of(self, codebook: BaseCodebook) -> str | None:
        """Kind of assigner for new rows; None: the codebook's own."""
        return None

    def _inertia_codebook(self, frame: Frame, codebook: BaseCodebook) -> BaseCodebook:
        """The centroids distances are measured to, given the codebook that labeled the rows."""
        return codebook

    def _largest_center(self, vectors: Any) -> float:
        """Largest absolute coordinate a centroid made of these vectors can have."""
        return sum(max(float(part.max()), -float(part.min())) for part in vectors)

    def _inertia_scale(self) -> float:
        """What the engine's squared distances are multiplied by."""
        return 1.0
