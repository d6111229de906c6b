"""Models through files: the same bits, no pickle, in a new process, too."""

import json
import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

import polymeans
from polymeans.deep import (
    DKM,
    IDEC,
    KhatriRaoDKM,
    KhatriRaoIDEC,
    from_arrays,
    load,
    save,
    to_arrays,
)
from tests.deep.checks import QUICK, blobs, quick_models

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = [
    *quick_models(),
    KhatriRaoDKM((2, 2), aggregator="product", init="latent", **QUICK),
    KhatriRaoIDEC((2, 2, 2), autoencoder="convolutional", image_shape=(2, 3), **QUICK),
    DKM(4, autoencoder="hadamard", rank=2, **(QUICK | {"hidden_sizes": (20, 12)})),
    # One of two inner layers stays dense.
    DKM(4, autoencoder="hadamard", **(QUICK | {"hidden_sizes": (60, 60, 8)})),
    DKM(4, init=np.arange(90) % 4, dtype="float64", **QUICK),
]


def names(model):
    return {name for name in vars(model) if not name.startswith("_")}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:60])
def test_round_trip_through_a_file(model, tmp_path):
    X = blobs()
    model.fit(X)
    path = tmp_path / "model.safetensors"
    model.save(path)
    found = load(path)
    assert type(found) is type(model)
    assert names(found) == names(model)
    for name, value in model.get_params().items():
        np.testing.assert_array_equal(found.get_params()[name], value, err_msg=name)
    for method in ("predict", "transform", "reconstruct", "score"):
        np.testing.assert_array_equal(getattr(found, method)(X), getattr(model, method)(X))
    for name in ("labels_", "history_", "cluster_centers_", "n_parameters_", "objective_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(model, name))
    # It can be fitted again, to the same bits.
    np.testing.assert_array_equal(found.fit(X).transform(X), model.transform(X))


def test_a_new_process_predicts_the_same(tmp_path):
    X = blobs()
    model = KhatriRaoIDEC((2, 2), **QUICK).fit(X)
    model.save(tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import numpy as np; from polymeans.deep import load;"
        f"print(*load({str(tmp_path / 'model')!r}).predict(np.load({str(tmp_path / 'X.npy')!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(label) for label in model.labels_]


@pytest.mark.parametrize("model", quick_models(), ids=lambda model: type(model).__name__)
def test_files_have_what_was_fitted_not_what_was_set_later(model, tmp_path):
    X = blobs()
    expected = model.set_params(alpha=2.0, reconstruction_weight=3.0).fit(X).score(X)
    model.set_params(alpha=7.0, reconstruction_weight=0.0, dtype="float64")
    assert model.score(X) == expected
    model.save(tmp_path / "model")
    found = load(tmp_path / "model")
    assert found.score(X) == expected
    assert found.distances(X).dtype == np.float32
    assert found.alpha == 7.0
    found.save(tmp_path / "again")
    assert load(tmp_path / "again").score(X) == expected


def test_files_of_earlier_versions_have_the_parameters_only():
    X = blobs()
    model = IDEC(4, alpha=2.0, reconstruction_weight=3.0, **QUICK).fit(X)
    arrays, values = to_arrays(model)
    del values["objective"]
    assert from_arrays(arrays, values).score(X) == model.score(X)


def test_a_warm_start_keeps_its_network_whatever_the_parameters_say(tmp_path):
    X = blobs()
    model = DKM(4, **QUICK).fit(X)
    model.set_params(warm_start=True, hidden_sizes=(7, 7), n_latent=9, dtype="float64").fit(X)
    assert model.transform(X).shape == (90, 4)
    assert model.transform(X).dtype == np.float64
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(X), model.transform(X))


def test_arrays_are_plain():
    model = DKM(4, **QUICK).fit(pd.DataFrame(blobs(), columns=list("abcdef")))
    arrays, values = to_arrays(model)
    assert all(type(part) is np.ndarray and part.dtype != object for part in arrays.values())
    again = from_arrays(arrays, json.loads(json.dumps(values)))
    assert again.feature_names_in_.tolist() == list("abcdef")


def test_files_are_safetensors(tmp_path):
    path = tmp_path / "model.safetensors"
    model = DKM(4, **QUICK).fit(blobs())
    save(model, path)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert all(isinstance(value, str) for value in metadata.values())
    ends = sorted(entry["data_offsets"] for entry in header.values())
    assert ends[0][0] == 0
    assert ends[-1][1] == len(content) - 8 - length
    assert all(before[1] == after[0] for before, after in pairwise(ends))
    entry = header["network.encoder.0.weight"]
    assert entry["dtype"] == "F32"
    assert entry["shape"] == [16, 6]


def test_given_networks_have_to_be_given_again(tmp_path):
    X = blobs()

    def networks():
        normed = torch.nn.Sequential(torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 2))
        return normed, torch.nn.Linear(2, 6)

    model = DKM(4, autoencoder=networks(), **QUICK).fit(X)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="autoencoder=\\(encoder, decoder\\)"):
        load(tmp_path / "model")
    found = load(tmp_path / "model", autoencoder=networks())
    np.testing.assert_array_equal(found.transform(X), model.transform(X))
    DKM(4, **QUICK).fit(X).save(tmp_path / "other")
    with pytest.raises(ValueError, match="must be None"):
        load(tmp_path / "other", autoencoder=networks())


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "model"
    DKM(4, **QUICK).fit(blobs()).save(path)
    content = path.read_bytes()
    for damaged in (b"", b"x" * 40, content[:100], content[:-50]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"no model file|cut off|damaged|header"):
            load(path)
    arrays, values = to_arrays(DKM(4, **QUICK).fit(blobs()))
    with pytest.raises(ValueError, match="format"):
        from_arrays(arrays, values | {"format": 99})


def test_the_library_saves_and_loads_them_like_every_other_model(tmp_path):
    X = blobs()
    model = KhatriRaoIDEC((2, 2), **QUICK).fit(X)
    polymeans.save(model, tmp_path / "model")
    found = polymeans.load(tmp_path / "model")
    assert type(found) is KhatriRaoIDEC
    np.testing.assert_array_equal(found.predict(X), model.labels_)


def test_layers_that_no_file_can_hold_are_refused():
    arrays, values = to_arrays(DKM(4, **QUICK).fit(blobs()))
    for sizes in ([10**9], [-1], [2.5], ["16"]):
        changed = json.loads(json.dumps(values))
        changed["network"]["hidden_sizes"] = sizes
        with pytest.raises(ValueError, match="layers"):
            from_arrays(arrays, changed)
    changed["network"]["hidden_sizes"] = [17]
    with pytest.raises(ValueError, match="does not fit"):
        from_arrays(arrays, changed)


def test_pickle_works_too():
    X = blobs()
    model = KhatriRaoDKM((2, 2), **QUICK).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.labels_)
