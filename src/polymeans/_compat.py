"""Everything that depends on the version of scikit-learn.

Callbacks (progress bars, early stopping) exist since scikit-learn 1.9; with older versions
estimators work the same without them.
"""

from typing import Any

from sklearn.utils import _set_output

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn < 1.9
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Stand-in without callbacks."""
        return method


def in_output_container(estimator: Any, values: Any, rows: Any) -> Any:
    """Values as ``set_output`` asks for them: as they are, or as a frame."""
    return _set_output._wrap_data_with_container("transform", values, rows, estimator)


class FitProgress:
    """Calls the callbacks of an estimator, if it has any, at each restart and iteration.

    Parameters
    ----------
    estimator : estimator
    n_runs : int
        Restarts at most.
    max_iter : int
        Iterations of one restart at most.
    data : dict
        Arguments of the callbacks: ``X`` and ``metadata``.
    """

    def __init__(self, estimator: Any, n_runs: int, max_iter: int, data: dict[str, Any]) -> None:
        self.estimator, self.max_iter, self.data = estimator, max_iter, data
        self._fit: Any = None
        self._run: Any = None
        if HAS_CALLBACKS:
            self._fit = estimator._init_callback_context(max_subtasks=n_runs)
            if not getattr(estimator, "_skl_callbacks", None):
                self._fit = None  # no callbacks, so no contexts are needed
            else:
                self._fit.call_on_fit_task_begin(estimator=estimator, **data)

    @property
    def is_watched(self) -> bool:
        """Whether the estimator has callbacks."""
        return self._fit is not None

    def begin_run(self) -> None:
        """Report that a restart begins."""
        if self._fit is not None:
            self._run = self._fit.subcontext(task_name="init", max_subtasks=self.max_iter)
            self._run.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def step(self, attributes: Any) -> bool:
        """Report that an iteration ended; ``attributes()`` is a fitted state. True: stop here."""
        if self._run is None:
            return False
        step = self._run.subcontext(task_name="iter")
        step.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return bool(
            step.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=attributes, **self.data
            )
        )

    def end_run(self, attributes: Any) -> bool:
        """Report that a restart ended. True: no more of them."""
        if self._run is None:
            return False
        stop = self._run.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=attributes, **self.data
        )
        return bool(stop)

    def end(self, attributes: Any) -> None:
        """Report that the fit ended."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=attributes, **self.data
            )
