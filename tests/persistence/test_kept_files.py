"""Files in the repository, written by earlier versions of the library, load and predict."""

import warnings

import numpy as np
import pytest

import polymeans
from polymeans.persistence.files import FORMAT_VERSION, read_model
from tests.persistence.models import ESTIMATORS, results, targets
from tests.persistence.write_files import FOLDER

FILES = sorted(FOLDER.glob("*.safetensors"))


def test_there_is_a_file_of_each_estimator_and_version():
    found = {path.name for path in FILES}
    for version in range(1, FORMAT_VERSION + 1):
        assert {f"{name}.v{version}.safetensors" for name in ESTIMATORS} <= found
    assert all(path.stat().st_size < 25_000 for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_kept_file_loads_and_predicts(path):
    loaded = read_model(path)
    name, version = path.stem.split(".v")
    assert loaded.format_version == int(version)
    X = np.load(FOLDER / "rows.npy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = results(loaded.model, X, targets(name))
    with np.load(path.with_suffix(".npz")) as expected:
        assert {f"{method}.{i}" for method, i in found} == set(expected)
        for (method, i), value in found.items():
            wanted = expected[f"{method}.{i}"]
            if value.dtype.kind == "f":
                np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_kept_file_can_be_saved_again(path, tmp_path):
    model = polymeans.load(path)
    polymeans.save(model, tmp_path / "again")
    assert polymeans.load(tmp_path / "again").get_params().keys() == model.get_params().keys()
