"""Fitted estimators as ONNX graphs: rows in, labels and distances out.

Everything is computed in float64, whatever the rows are. Centroids are stored as what they are made
of (protocentroids, sparse factors); runtimes multiply them out once, when they load the file.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import shown
from polymeans._version import __version__
from polymeans.core.whole_file import whole_file

#: Version of the operators that are used; runtimes since 2021 have it.
_OPSET = 14

#: Classes that have a graph.
_CLASSES = ("KMeans", "KhatriRaoKMeans", "QuickKMeans", "L1KMeans", "TransformedKMeans")

#: Divides rows of zeros, which stay zeros, and no others: squares of smaller numbers vanish.
_TINY = 1e-150


def export_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as an ONNX graph, for runtimes in other languages and on devices.

    **Idea.** The graph has one input, ``X`` (rows of the type that the model was fitted to), and
    two outputs: ``label`` (int64, as ``predict``) and ``distances`` (to all centroids, as
    ``transform``; of :class:`~polymeans.TransformedKMeans`, distances in the learned space).

    **Use when** a service or device has onnxruntime, and no Python or no polymeans. **Do not use**
    to keep a model: a graph cannot be fitted further, :func:`polymeans.save` keeps everything.

    **Cost.** The file has what the centroids are made of, as ``polymeans.save`` writes it. A row
    costs the multiplications of the centroids multiplied out (sums of protocentroids: one for each
    protocentroid and feature). Needs the package onnx: ``pip install "polymeans[onnx]"``.

    Parameters
    ----------
    model : estimator
        Fitted KMeans, KhatriRaoKMeans, QuickKMeans, L1KMeans, or TransformedKMeans without a
        kernel.
    path : path
        The file to write, by convention ``something.onnx``.

    See Also
    --------
    polymeans.save : Keeps a model for this library.

    Notes
    -----
    ``predict`` decides in real arithmetic which centroid is nearest, a graph in float64: rows that
    are equally near to two centroids, up to rounding, may get another one of them.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import onnxruntime
    >>> import polymeans
    >>> X = np.array([[1, 2], [1, 4], [10, 2], [10, 4]], dtype=np.float32)
    >>> model = polymeans.KMeans(2, random_state=0).fit(X)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "model.onnx")
    >>> polymeans.export_onnx(model, path)
    >>> label, distances = onnxruntime.InferenceSession(path).run(None, {"X": X})
    >>> bool((label == model.labels_).all()), [round(float(x), 1) for x in distances[0]]
    (True, [9.1, 1.0])
    >>> folder.cleanup()
    """
    name = type(model).__name__
    if name not in _CLASSES:
        raise TypeError(f"model must be one of {', '.join(_CLASSES)}, got {shown(model)}.")
    try:
        import onnx
    except ImportError as error:
        raise ImportError('export_onnx needs onnx: pip install "polymeans[onnx]"') from error
    check_is_fitted(model)
    dtype = _dtype_of(model)
    graph = _Graph(onnx, dtype)
    if name == "TransformedKMeans":
        _transformed(graph, model)
    elif name == "KhatriRaoKMeans":
        _khatri_rao(graph, model)
    elif name == "QuickKMeans":
        _quick(graph, model)
    else:
        _centroids(graph, model)
    content = graph.finished(name, int(model.n_features_in_)).SerializeToString()
    with whole_file(path) as file:
        file.write(content)


def _dtype_of(model: Any) -> np.dtype[Any]:
    name = type(model).__name__
    if name == "TransformedKMeans":
        centers = model.cluster_centers_
        return np.dtype(np.float64) if centers is None else centers.dtype
    return model._fitted_vectors()[0].dtype


class _Graph:
    """Nodes and constants of a graph in the making; values are known by their names."""

    def __init__(self, onnx: Any, dtype: np.dtype[Any]) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.sparse_constants: list[Any] = []
        self.rows = self.node("Cast", "X", to=onnx.TensorProto.DOUBLE)

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """A node with one output, and the name of that."""
        output = output or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, array: Any) -> str:
        """A constant in float64, or of whole numbers as they are."""
        array = np.asarray(array)
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
        name = f"constant{len(self.constants) + len(self.sparse_constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def sparse_constant(self, matrix: sp.csr_array) -> str:
        """A constant of which only the entries are stored."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        name = f"constant{len(self.constants) + len(self.sparse_constants)}"
        entries = matrix.tocoo()
        order = np.lexsort((entries.col, entries.row))
        places = entries.row.astype(np.int64) * matrix.shape[1] + entries.col
        values = helper.make_tensor(
            name, kinds.DOUBLE, [matrix.nnz], entries.data[order].astype(np.float64)
        )
        indices = helper.make_tensor(f"{name}_at", kinds.INT64, [matrix.nnz], places[order])
        self.sparse_constants.append(helper.make_sparse_tensor(values, indices, matrix.shape))
        return name

    def squares(self, rows: str) -> str:
        """Sums of the squares of each row, as a column."""
        return self.node("ReduceSumSquare", rows, axes=[1], keepdims=1)

    def to_length_one(self, rows: str) -> str:
        """Rows divided by their lengths; zeros stay zeros."""
        # Divided by the largest entry first: squares of large numbers would leave the range.
        largest = self.node("ReduceMax", self.node("Abs", rows), axes=[1], keepdims=1)
        tiny = self.constant(np.array([_TINY]))
        rows = self.node("Div", rows, self.node("Max", largest, tiny))
        length = self.node("Sqrt", self.squares(rows))
        return self.node("Div", rows, self.node("Max", length, tiny))

    def products(self, rows: str, centers: str) -> str:
        """Inner products of rows with the rows of a matrix."""
        return self.node("MatMul", rows, self.node("Transpose", centers, perm=[1, 0]))

    def scores(self, products: str, squares: str) -> str:
        """``|c|² - 2 x·c``: the distance to each centroid, less what all have in common."""
        doubled = self.node("Mul", products, self.constant(np.array([-2.0])))
        return self.node("Add", doubled, squares)

    def label(self, scores: str) -> None:
        """The output of labels: the lowest index of the smallest score."""
        self.node("ArgMin", scores, output="label", axis=1, keepdims=0)

    def distances(self, rows: str, scores: str) -> None:
        """The output of distances, by scores and the lengths of rows."""
        squared = self.node("Add", scores, self.squares(rows))
        positive = self.node("Max", squared, self.constant(np.array([0.0])))
        self.output(self.node("Sqrt", positive))

    def output(self, distances: str) -> None:
        """The output of distances, in the type of the rows."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        self.node("Cast", distances, output="distances", to=kind)

    def finished(self, name: str, n_features: int) -> Any:
        """The graph as a model that was checked."""
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("X", kind, ["rows", n_features])],
            [
                helper.make_tensor_value_info("label", self.onnx.TensorProto.INT64, ["rows"]),
                helper.make_tensor_value_info("distances", kind, ["rows", "clusters"]),
            ],
            self.constants,
            sparse_initializer=self.sparse_constants,
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            producer_name="polymeans",
            producer_version=__version__,
        )
        model.ir_version = 8  # of the same age as the operators
        if not self.sparse_constants:  # the checker takes those for inputs that are missing
            self.onnx.checker.check_model(model)
        return model


def _centroids(graph: _Graph, model: Any) -> None:
    """Free or sparse centroids, Euclidean or cosine."""
    centers = model.cluster_centers_.astype(np.float64)
    if model._spherical:
        rows = graph.to_length_one(graph.rows)
        products = graph.products(rows, graph.constant(centers))
        # Rows of zeros have the same score for all: the lowest index, as predict has it.
        graph.label(graph.node("Neg", products))
        graph.output(graph.node("Sub", graph.constant(np.array([1.0])), products))
        return
    if type(model).__name__ == "L1KMeans" and model.sparse_centroids_.nnz:
        sparse = graph.sparse_constant(model.sparse_centroids_)
        offset = graph.constant(model.offset_)
        # Measured from the offset: scores are smaller, and rounding of them is.
        rows = graph.node("Sub", graph.rows, offset)
        squares = _squares(model.sparse_centroids_.toarray())
        _nearest(graph, rows, graph.products(rows, sparse), graph.constant(squares))
        return
    _euclidean(graph, centers)


def _euclidean(graph: _Graph, centers: NDArray[np.float64]) -> None:
    """Labels and distances for free centroids, measured from their mean."""
    origin = centers.mean(axis=0)
    rows = graph.node("Sub", graph.rows, graph.constant(origin))
    products = graph.products(rows, graph.constant(centers - origin))
    _nearest(graph, rows, products, graph.constant(_squares(centers - origin)))


def _nearest(graph: _Graph, rows: str, products: str, squares: str) -> None:
    scores = graph.scores(products, squares)
    graph.label(scores)
    graph.distances(rows, scores)


def _squares(centers: NDArray[Any]) -> NDArray[np.float64]:
    return np.square(centers, dtype=np.float64).sum(axis=1)


def _khatri_rao(graph: _Graph, model: Any) -> None:
    sets = [part.astype(np.float64) for part in model.protocentroids_]
    if len(sets) == 1:
        _euclidean(graph, sets[0])
    elif model._aggregator == "sum":
        _sums(graph, sets)
    else:
        _products(graph, sets)


def _sums(graph: _Graph, sets: Sequence[NDArray[np.float64]]) -> None:
    """Products with a sum are sums of products: one for each protocentroid."""
    origins = [part.mean(axis=0) for part in sets]
    sets = [part - origin for part, origin in zip(sets, origins)]
    rows = graph.node("Sub", graph.rows, graph.constant(np.sum(origins, axis=0)))
    total, squares = "", np.zeros(1)
    for q, part in enumerate(sets):
        shape = [-1] + [len(part) if q == other else 1 for other in range(len(sets))]
        products = graph.products(rows, graph.constant(part))
        products = graph.node("Reshape", products, graph.constant(np.array(shape)))
        total = graph.node("Add", total, products) if total else products
        squares = _joined(squares, sets[:q], part)
    sizes = graph.constant(np.array([-1, int(np.prod([len(part) for part in sets]))]))
    products = graph.node("Reshape", total, sizes)
    _nearest(graph, rows, products, graph.constant(squares))


def _joined(
    squares: NDArray[np.float64],
    before: Sequence[NDArray[np.float64]],
    part: NDArray[np.float64],
) -> NDArray[np.float64]:
    """``|a + b|²`` for all sums a of the sets before and all b, in C order."""
    cross = np.zeros((1, len(part)))
    for other in before:
        products = other @ part.T
        cross = (cross[:, None, :] + products[None]).reshape(-1, len(part))
    return (squares[:, None] + 2 * cross + _squares(part)).ravel()


def _products(graph: _Graph, sets: Sequence[NDArray[np.float64]]) -> None:
    """Centroids are multiplied out in the graph: runtimes do it once, as nothing in it varies."""
    centers = graph.constant(sets[0])
    n_centers, n_features = sets[0].shape
    for part in sets[1:]:
        left = graph.constant(np.array([n_centers, 1, n_features]))
        left = graph.node("Reshape", centers, left)
        right = graph.constant(part[None])
        n_centers *= len(part)
        shape = graph.constant(np.array([n_centers, n_features]))
        centers = graph.node("Reshape", graph.node("Mul", left, right), shape)
    squares = graph.node("ReduceSumSquare", centers, axes=[1], keepdims=0)
    _nearest(graph, graph.rows, graph.products(graph.rows, centers), squares)


def _quick(graph: _Graph, model: Any) -> None:
    """Factors decide labels; distances are those to the centroids, which may be means."""
    rows = graph.node("Sub", graph.rows, graph.constant(model.offset_))
    product = ""
    for factor in model.factors_:
        part = graph.sparse_constant(factor)
        product = graph.node("MatMul", product, part) if product else part
    squares = graph.node("ReduceSumSquare", product, axes=[1], keepdims=0)
    scores = graph.scores(graph.products(rows, product), squares)
    graph.label(scores)
    if model._means is None:
        graph.distances(rows, scores)
        return
    means = model._means.astype(np.float64) - model.offset_.astype(np.float64)
    products = graph.products(rows, graph.constant(means))
    graph.distances(rows, graph.scores(products, graph.constant(_squares(means))))


def _transformed(graph: _Graph, model: Any) -> None:
    space, metric = model._space, model._learned_metric
    if space is None or model.cluster_centers_ is None:
        raise ValueError(
            "A graph needs a space of linear directions, which this TransformedKMeans lacks (it "
            f"has kernel={model.kernel!r}, solver={model.solver!r}). Fit without a kernel and with "
            'another solver, such as "exact".'
        )
    rows = graph.rows
    if space.spherical:
        rows = graph.to_length_one(rows)
    elif space.unit != 1.0:
        rows = graph.node("Div", rows, graph.constant(np.array([space.unit])))
    # A kernel of rows that are products of themselves is a matrix all the same.
    directions, offset = _directions(space)
    inside = graph.node("MatMul", rows, graph.constant(directions))
    inside = graph.node("Sub", inside, graph.constant(offset))
    if space.map.normalized:
        inside = graph.to_length_one(inside)
    inside = graph.node("Sub", inside, graph.constant(space.mean))
    if space.rotation is not None:
        inside = graph.node("MatMul", inside, graph.constant(space.rotation))
    white = graph.node("Div", inside, graph.constant(metric.scale))
    products = graph.node("MatMul", white, graph.constant(model._slopes))
    graph.label(graph.scores(products, graph.constant(model._offsets)))
    learned = metric.matrix().T * space.length
    transformed = graph.node("MatMul", inside, graph.constant(learned))
    centers = model.centroids_in_space_
    scores = graph.scores(
        graph.products(transformed, graph.constant(centers)), graph.constant(_squares(centers))
    )
    graph.distances(transformed, scores)


def _directions(space: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Matrix and offset of a space's map, of linear kernels too."""
    row_map = space.map
    if hasattr(row_map, "directions"):
        return row_map.directions, row_map.offset
    known = np.asarray(row_map.known.todense() if sp.issparse(row_map.known) else row_map.known)
    known, coefficients = known.astype(np.float64), row_map.coefficients
    if row_map.shares is None:
        return known.T @ coefficients, np.zeros(coefficients.shape[1])
    # Values are centered by the mean row: k(x, y) - k(x, m) - k(m, y) + k(m, m).
    centered = known - row_map.shares @ known
    offset = (row_map.means - row_map.means @ row_map.shares) @ coefficients
    return centered.T @ coefficients, offset
