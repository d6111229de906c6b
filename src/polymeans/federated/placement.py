"""Sites as a placement: the engine's survey of all rows, asked of sites in messages.

Only what a survey needs can be asked. Whatever would return rows has no message, so it fails here
and not at a site.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.core.exact_sums import ExactSum, Ladder
from polymeans.core.frame import MeasuredFrame
from polymeans.engine import survey as look
from polymeans.engine.feature_totals import FeatureTotals
from polymeans.engine.prepared import Scaling
from polymeans.engine.survey import Survey
from polymeans.federated.codebooks import codebook_message
from polymeans.federated.coordinator import Coordinator
from polymeans.federated.frames import range_of_message, scaling_message
from polymeans.federated.messages import Message, checked_array, checked_number


class SitesPlacement:
    """Rows at sites, for :func:`polymeans.engine.survey.measure`.

    Parameters
    ----------
    coordinator : Coordinator
    """

    keeps_blocks = False

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        n_features, self.dtype, self.is_sparse, n_samples = coordinator.gather()
        self.shape = n_samples, n_features
        self.sizes = tuple(said.n_samples for _, said in sorted(coordinator.announced.items()))
        self._scaling = Scaling()

    def see(self, frame: MeasuredFrame | None) -> None:
        """Have sites see their rows through this frame from now on."""
        if frame is not None:
            self.coordinator.show(frame)

    def reduce(self, function: Callable[..., Any], *args: Any, **others: Any) -> Any:
        """The few questions of a survey."""
        questions: dict[Callable[..., Any], Callable[..., Any]] = {
            look.survey_block: self._survey,
            look.range_of_rows: lambda scaling: self._survey(scaling, self.shape[0], True).values,
            look.count_exponents: self._exponents,
            look.used_bins: lambda scaling: self._bins("terms", scaling),
            look.scaled_square: self._scaled_square,
            look.total_square: lambda: self._square("square_about", {}, frame=True),
            look.inertia_about: self._inertia_about,
        }
        if function not in questions:
            raise NotImplementedError(f"Sites are never asked for {function.__name__}.")
        return questions[function](*args)

    def map(self, function: Callable[..., Any], *args: Any, **others: Any) -> list[Any]:
        """Nothing: sites answer no question row by row."""
        raise NotImplementedError(f"Sites are never asked for {function.__name__}.")

    def recall(self, function: Callable[..., Any], *args: Any, **others: Any) -> list[Any]:
        """Where weights have bits."""
        if function is not look.used_mass_bins:
            raise NotImplementedError(f"Sites are never asked for {function.__name__}.")
        return [self._bins("weights", self._scaling)]

    def release(self) -> None:
        """Nothing is kept."""

    def _survey(self, scaling: Scaling, n_samples: int, assumed: bool) -> Survey:
        self._scaling = scaling
        found: dict[str, Survey] = {}

        def take(name: str, reply: Message) -> None:
            said = self.coordinator.announced[name]
            values, terms, weights = (
                range_of_message(reply.get(part)) for part in ("values", "terms", "weights")
            )
            n_stored = int(checked_number(reply, "n_stored", 0, said.n_samples * self.shape[1]))
            n_ones, n_weightless, n_zeros = [
                int(checked_number(reply, part, 0, said.n_samples))
                for part in ("n_ones", "n_weightless", "n_directionless")
            ]
            said.values, said.weights = values, weights
            nothing = FeatureTotals(((1, 0),), n_samples, np.zeros((1, self.shape[1])))
            numbers = said.n_samples, n_stored, n_ones, n_weightless, n_zeros
            counts = np.zeros(self.shape[1], dtype=np.int64) if self.is_sparse else None
            sums = ExactSum(), ExactSum(), nothing
            complete = bool(reply.get("complete"))
            found[name] = Survey(*numbers, values, terms, weights, counts, *sums, complete)

        asked = {"scaling": scaling_message(scaling), "assumed": assumed}
        self.coordinator.ask("ranges", asked, check_reply=take)
        # Without its range the server could not check what a site says later, nor add it up.
        self.coordinator.ask_again("ranges", asked, found, take)
        for name in set(self.coordinator.announced) - set(found):
            self.coordinator.exclude(name, "it has not said which range its values have")
        parts = [found[name] for name in sorted(found)]
        survey = sum(parts[1:], parts[0])
        return self._with_totals(survey, scaling, n_samples) if survey.complete else survey

    def _with_totals(self, survey: Survey, scaling: Scaling, n_samples: int) -> Survey:
        bits = survey.terms.bits
        ladder = Ladder.for_segments([bits], n_samples)
        shapes: dict[str, tuple[int, ...]] = {"features": (ladder.n_rungs, self.shape[1])}
        shapes |= {"mass": ExactSum().bins.shape, "square": ExactSum().bins.shape}
        if self.is_sparse:
            shapes["entries"] = (self.shape[1],)
        asked = {
            "scaling": scaling_message(scaling),
            "ladder": list(ladder.units),
            "n_samples": n_samples,
        }
        totals = self.coordinator.ask("survey", asked, shapes).totals
        rungs = totals["features"] * np.array(ladder.units)[:, None]
        return replace(
            survey,
            counts=totals.get("entries"),
            mass=ExactSum(totals["mass"]),
            square=ExactSum(totals["square"]),
            totals=FeatureTotals((bits,), n_samples, rungs),
        )

    def _exponents(self, scaling: Scaling) -> NDArray[np.int64]:
        from polymeans.kernels.exact import N_EXPONENTS

        asked = {"scaling": scaling_message(scaling)}
        shapes: dict[str, tuple[int, ...]] = {"exponents": (N_EXPONENTS,)}
        return self.coordinator.ask("exponents", asked, shapes).totals["exponents"]

    def _bins(self, of: str, scaling: Scaling) -> NDArray[np.bool_]:
        used = np.zeros(len(ExactSum().bins), dtype=bool)

        def take(name: str, reply: Message) -> None:
            used[checked_array(reply, "used", used.shape, "i") > 0] = True

        asked = {"of": of, "scaling": scaling_message(scaling)}
        self.coordinator.ask("bins", asked, check_reply=take)
        return used

    def _scaled_square(self, scaling: Scaling, scale: float) -> ExactSum:
        asked = {"scaling": scaling_message(scaling), "scale": float(scale)}
        return self._square("square", asked)

    def _inertia_about(self, center: BaseCodebook) -> ExactSum:
        return self._square("square_about", {"codebook": codebook_message(center)}, frame=True)

    def _square(self, kind: str, asked: Message, frame: bool = False) -> ExactSum:
        shapes: dict[str, tuple[int, ...]] = {"square": ExactSum().bins.shape}
        return ExactSum(self.coordinator.ask(kind, asked, shapes, frame=frame).totals["square"])
