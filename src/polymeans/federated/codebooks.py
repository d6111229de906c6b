"""How centroids travel: of a codebook's state, what a site needs to label its rows.

Sums of protocentroids go down as ``Σh`` vectors, factored centroids as their factors. A site makes
the same codebook of them, and so gives the same labels as any other place would.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.factored import FactoredCodebook, multiplied_out
from polymeans.codebooks.khatri_rao import AdditiveCodebook, GridCodebook, MultiplicativeCodebook
from polymeans.codebooks.l1 import L1Codebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.frame import Frame
from polymeans.federated.messages import InvalidMessageError, Message

_KINDS: dict[str, type[BaseCodebook]] = {
    "dense": DenseCodebook,
    "numerators": NumeratorCodebook,
    "sum": AdditiveCodebook,
    "product": MultiplicativeCodebook,
    "l1": L1Codebook,
    "factored": FactoredCodebook,
}


def codebook_message(codebook: BaseCodebook) -> Message:
    """What a site has to know of a codebook; a copy, since refits change codebooks in place."""
    kind = next((k for k, cls in _KINDS.items() if type(codebook) is cls), None)
    if kind is None:
        raise TypeError(f"{type(codebook).__name__} cannot be sent to sites.")
    state = codebook.state()
    if isinstance(codebook, GridCodebook):
        del state["precise"]  # only refits need it
    elif isinstance(codebook, NumeratorCodebook):
        del state["partials"]
        for name, usual in (("denominators", 1.0), ("outside", 0.0)):
            if (state[name] == usual).all():
                del state[name]
    elif isinstance(codebook, L1Codebook):
        state = _without_zeros(state, codebook)
    elif isinstance(codebook, FactoredCodebook):
        for name in ("centers", "squared_norms", "rank", "n_updates"):
            del state[name]
    own = {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in state.items()
    }
    return {"kind": kind, **own}


def codebook_of(message: Message, frame: Frame) -> BaseCodebook:
    """The codebook of a message, for rows seen through a frame."""
    kind = message.get("kind")
    if kind not in _KINDS:
        raise InvalidMessageError(f"there are no centroids of kind {kind!r}")
    state = {name: value for name, value in message.items() if name != "kind"}
    if kind == "numerators":
        n_clusters = len(state["numerators"])
        state.setdefault("denominators", np.ones(n_clusters))
        state.setdefault("outside", np.zeros(n_clusters))
        state["partials"] = np.empty((0, 0))
    elif kind in ("sum", "product"):
        state["precise"] = state["protocentroids"].astype(np.float64)
    elif kind == "l1":
        shape = tuple(state["shape"].tolist())
        sparse = sp.csr_array((state["data"], state["indices"], state["indptr"]), shape=shape)
        state |= {"sparse": sparse.toarray(), "rank": frame.rank}
        if not state["offset"].size:
            state["offset"] = np.zeros(shape[1])
    elif kind == "factored":
        return _factored(state, frame)
    return _KINDS[kind].from_state(state)


def _without_zeros(state: Message, codebook: L1Codebook) -> Message:
    sparse = sp.csr_array(codebook.sparse)
    entries: Message = {
        "data": sparse.data,
        "indices": sparse.indices,
        "indptr": sparse.indptr,
        "shape": np.array(sparse.shape),
        "offset": codebook.offset if codebook.offset.any() else codebook.offset[:0],
    }
    return entries | {name: state[name] for name in ("radius", "n_nonzeros", "entangled")}


def _factored(state: dict[str, Any], frame: Frame) -> FactoredCodebook:
    factors = [
        sp.csr_array(
            (state[f"data{q}"], state[f"indices{q}"], state[f"indptr{q}"]),
            shape=tuple(state[f"shape{q}"].tolist()),
        )
        for q in range(int(state["n_factors"]))
    ]
    table = multiplied_out(factors, state["offset"], frame.dtype)
    return FactoredCodebook(frame, factors, state["offset"], centers=table)
