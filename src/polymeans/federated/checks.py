"""Which replies of sites cannot be true."""

from dataclasses import dataclass

import numpy as np

from polymeans._validation import shown
from polymeans.core.exact_sums import ExactSum, TermRange
from polymeans.federated.messages import InvalidMessageError, Message, checked_number
from polymeans.federated.totals import Layout, Totals, members_of


@dataclass
class Announcement:
    """What a site has said about its rows before anything was added up."""

    n_samples: int
    n_features: int
    dtype: str
    is_sparse: bool
    values: TermRange | None = None  #: of its values, in the engine's unit
    weights: TermRange | None = None
    columns: tuple[str, ...] = ()  #: names of all features; empty: they have none
    are_texts: bool = True  #: the names; False: numbers or other labels, written as texts

    @property
    def kind(self) -> tuple[int, str, bool]:
        """Width, dtype and container: the same at all sites of a run."""
        return self.n_features, self.dtype, self.is_sparse

    @classmethod
    def of(cls, reply: Message) -> "Announcement":
        """The announcement of a reply, checked."""
        n_samples = int(checked_number(reply, "n_samples", 1, 2**53))
        n_features = int(checked_number(reply, "n_features", 1, 2**53))
        dtype = reply.get("dtype")
        if dtype not in ("float32", "float64"):
            raise InvalidMessageError(f"its dtype is {dtype!r}")
        columns = reply.get("columns", [])
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise InvalidMessageError("names of its columns are no texts")
        if columns and len(columns) != n_features:
            raise InvalidMessageError(f"it has {len(columns)} names for {n_features} features")
        is_sparse = bool(reply.get("is_sparse"))
        are_texts = bool(reply.get("columns_are_texts", True))
        return cls(
            n_samples,
            n_features,
            str(dtype),
            is_sparse,
            columns=tuple(columns),
            are_texts=are_texts,
        )


def check_step(layout: Layout, totals: Totals, said: Announcement) -> None:
    """Raise if a site's totals contradict what it has announced.

    Counts below zero or more rows than there are; more mass than the rows can have; sums larger
    than the mass times the largest value; squares below zero or above what values allow.
    """
    counts = totals["pairs" if layout.by_pairs else "counts"]
    if (counts < 0).any():
        raise InvalidMessageError("it counts fewer than zero rows in a cluster")
    members = members_of(layout, totals)
    n_sets = len(layout.sizes) if layout.needs == "marginals" else 1
    n_rows = int(members.sum()) // n_sets
    if n_rows > said.n_samples:
        raise InvalidMessageError(f"it counts {n_rows} rows but announced {said.n_samples}")
    heaviest = np.inf if said.weights is None else said.weights.largest
    mass = members.astype(np.float64) * heaviest
    largest = np.inf if said.values is None else said.values.largest
    if not layout.frame.unweighted:
        units = np.array(layout.frame.mass_ladder.units)
        masses = (totals["mass"] * units).sum(axis=1)
        limit = heaviest * totals["counts"] if "counts" in totals else mass
        if (masses < 0).any() or (masses > limit * (1 + 1e-9)).any():
            raise InvalidMessageError("its clusters have more mass than their rows can have")
    units = np.array(layout.frame.ladder.units)[:, None]
    sums = np.abs((totals["sums"] * units).sum(axis=1)).max(axis=1, initial=0.0)
    if (sums > mass * largest * (1 + 1e-9)).any():
        raise InvalidMessageError("its sums exceed what its announced values can add up to")
    for name in ("square", "inertia"):
        if name in totals and float(ExactSum(totals[name].copy())) < 0:
            raise InvalidMessageError(f"its {name} is negative")


def common_kind(announced: dict[str, Announcement]) -> tuple[int, str, bool]:
    """Width, dtype and container of most sites; of the first by name among equals."""
    kinds = [announced[name].kind for name in sorted(announced)]
    return max(kinds, key=kinds.count)


def other_columns(announced: dict[str, Announcement]) -> dict[str, str]:
    """Sites whose columns have other names than those of most, and in what they differ.

    Texts are compared with texts, numbers with numbers: a frame of which nobody has named the
    columns has numbers for them.
    """
    found = {}
    for are_texts in (True, False):
        named = {
            name: said.columns
            for name, said in sorted(announced.items())
            if said.columns and said.are_texts == are_texts
        }
        known = list(named.values())
        common = max(known, key=known.count, default=())  # of the first by name among equals
        for name, columns in named.items():
            if columns != common:
                found[name] = _describe_columns(columns, common)
    return found


def _describe_columns(columns: tuple[str, ...], common: tuple[str, ...]) -> str:
    """In what names of columns differ from those of other sites."""
    number = next(i for i, pair in enumerate(zip(columns, common)) if pair[0] != pair[1])
    return (
        f"its column {number} is {shown(columns[number])}, that of others {shown(common[number])}: "
        "names and their order must be the same"
    )


def describe(kind: tuple[int, str, bool]) -> str:
    """A width, dtype and container in words."""
    return f"{kind[0]} features of {kind[1]}{' in CSR' if kind[2] else ''}"
