"""The safetensors layout: what we write its package reads, what it writes we read."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import polymeans
from polymeans.persistence import ModelFileError
from polymeans.persistence.layout import DTYPES, read_arrays, write_arrays
from tests.persistence.bytes_of import header_of, with_header
from tests.persistence.models import ESTIMATORS, fitted, results, rows, same, targets


def arrays_of_all_kinds():
    rng = np.random.default_rng(0)
    arrays = {name: (rng.normal(size=(3, 5)) * 50).astype(code) for name, code in DTYPES.items()}
    return arrays | {
        "empty": np.empty((0, 4)),
        "empty too": np.empty(0, dtype=np.uint8),
        "scalar": np.array(2.5),
        "größe": np.arange(6, dtype=">f8").reshape(2, 3),
        "columns": np.asfortranarray(rng.normal(size=(4, 3))),
        "strided": rng.normal(size=(8, 6))[::2, ::-3],
    }


def test_the_package_reads_what_we_write(tmp_path):
    arrays, path = arrays_of_all_kinds(), tmp_path / "a.safetensors"
    write_arrays(path, arrays, {"who": "wir", "what": "„alles“"})
    found = load_file(path)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found[name], array)
    with safe_open(path, "np") as file:
        assert file.metadata() == {"who": "wir", "what": "„alles“"}


def test_we_read_what_the_package_writes(tmp_path):
    arrays = {k: np.ascontiguousarray(v) for k, v in arrays_of_all_kinds().items()}
    arrays["größe"] = arrays["größe"].astype("<f8")
    save_file(arrays, tmp_path / "a", metadata={"note": "x"})
    found, texts = read_arrays(tmp_path / "a")
    assert texts == {"note": "x"}
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert same(found[name], array), name
        assert found[name].flags.writeable
        assert found[name].flags.aligned


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_written_again_by_the_package_is_the_same_model(name, tmp_path):
    model = fitted(name, "float32")
    polymeans.save(model, tmp_path / "ours")
    with safe_open(tmp_path / "ours", "np") as file:
        metadata = file.metadata()
    save_file(load_file(tmp_path / "ours"), tmp_path / "theirs", metadata=metadata)
    again, X, y = polymeans.load(tmp_path / "theirs"), rows("float32"), targets(name)
    assert same(results(again, X, y), results(model, X, y))


def test_arrays_begin_at_multiples_of_their_item_size(tmp_path):
    write_arrays(tmp_path / "a", arrays_of_all_kinds(), {})
    content = (tmp_path / "a").read_bytes()
    header, _ = header_of(content)
    assert int.from_bytes(content[:8], "little") % 8 == 0
    for name, entry in header.items():
        if name != "__metadata__":
            assert entry["data_offsets"][0] % np.dtype(DTYPES[entry["dtype"]]).itemsize == 0


# --- what is refused ---------------------------------------------------------------------------

ENTRY = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}
BAD_HEADERS = {
    "overlap": {"a": ENTRY, "b": {**ENTRY, "data_offsets": [8, 24]}},
    "the same bytes twice": {"a": ENTRY, "b": ENTRY},
    "a gap": {"a": ENTRY, "b": {**ENTRY, "data_offsets": [24, 40]}},
    "backwards": {"a": {**ENTRY, "data_offsets": [16, 0]}},
    "beyond the end": {"a": {**ENTRY, "shape": [2000], "data_offsets": [0, 16000]}},
    "bytes left over": {"a": {**ENTRY, "shape": [1], "data_offsets": [0, 8]}},
    "huge shape": {"a": {**ENTRY, "shape": [2**62, 2**62]}},
    "huge empty shape": {"a": {**ENTRY, "shape": [0, 2**62], "data_offsets": [0, 0]}},
    "huge product": {"a": {**ENTRY, "shape": [2**40, 2**40]}},
    "product that would wrap around": {"a": {**ENTRY, "shape": [2**32, 2**32 + 2]}},
    "negative shape": {"a": {**ENTRY, "shape": [-1, -2]}},
    "negative offset": {"a": {**ENTRY, "data_offsets": [-16, 0]}},
    "shape of floats": {"a": {**ENTRY, "shape": [2.0]}},
    "shape of booleans": {"a": {**ENTRY, "shape": [True, 2]}},
    "shape of texts": {"a": {**ENTRY, "shape": ["2"]}},
    "no shape": {"a": {"dtype": "F64", "data_offsets": [0, 16]}},
    "one more key": {"a": {**ENTRY, "pickle": "x"}},
    "too many dimensions": {"a": {**ENTRY, "shape": [2] + [1] * 60}},
    "unknown type": {"a": {**ENTRY, "dtype": "O"}},
    "type that numpy lacks": {"a": {**ENTRY, "dtype": "BF16"}},
    "type that is a list": {"a": {**ENTRY, "dtype": ["F64"]}},
    "three offsets": {"a": {**ENTRY, "data_offsets": [0, 8, 16]}},
    "entry that is a number": {"a": 3},
    "metadata that are no texts": {"__metadata__": {"a": 3}, "a": ENTRY},
    "metadata that are a list": {"__metadata__": ["a"], "a": ENTRY},
    "a list": [1, 2],
    "NaN offsets": b'{"a": {"dtype": "F64", "shape": [2], "data_offsets": [NaN, 16]}}',
    "infinite offsets": b'{"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, Infinity]}}',
    "duplicate names": (
        b'{"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}, '
        b'"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}'
    ),
    "duplicate keys": (
        b'{"a": {"dtype": "F64", "shape": [2], "shape": [2], "data_offsets": [0, 16]}}'
    ),
    "not UTF-8": b'{"\xff\xfe": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}',
    "deep nesting": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a": ' * 50_000 + b"1" + b"}" * 50_000,
    "a very long number": b'{"a": ' + b"9" * 50_000 + b"}",
    "no end": b'{"a": ',
    "text after the end": b'{"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}} x',
}


@pytest.mark.parametrize("what", BAD_HEADERS)
def test_bad_headers_are_refused(what, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(with_header(BAD_HEADERS[what], bytes(16)))
    with pytest.raises(ModelFileError) as caught:
        read_arrays(path)
    assert len(str(caught.value)) < 1000
    with pytest.raises(ModelFileError):
        polymeans.load(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        bytes(8),
        bytes(100),
        b"\xff" * 100,
        b"PK\x03\x04" + bytes(100),
        b"\x80\x04\x95" + bytes(200),
        (2**63).to_bytes(8, "little") + b"{}",
        (10**8 + 1).to_bytes(8, "little") + b"{" + bytes(10**8),
        (3).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
    ],
    ids=lambda content: f"{len(content)} bytes {content[:4]!r}",
)
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"no model file|header|cannot be read"):
        polymeans.load(tmp_path / "other")


def test_booleans_are_zero_or_one(tmp_path):
    header = {"a": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}
    (tmp_path / "a").write_bytes(with_header(header, b"\x01\x02"))
    with pytest.raises(ModelFileError, match="neither 0 nor 1"):
        read_arrays(tmp_path / "a")


def test_files_that_cannot_be_opened_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        polymeans.load(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        polymeans.load(tmp_path)
    with pytest.raises(ModelFileError, match="no regular file"):
        polymeans.load("/dev/zero")


def test_safetensors_files_of_others_are_no_models(tmp_path):
    save_file({"weight": np.zeros(3)}, tmp_path / "a", metadata={"format": "pt"})
    with pytest.raises(ModelFileError, match="no model of polymeans"):
        polymeans.load(tmp_path / "a")
    save_file({"weight": np.zeros(3)}, tmp_path / "b")
    with pytest.raises(ModelFileError, match="no model of polymeans"):
        polymeans.load(tmp_path / "b")


def test_a_header_that_no_program_reads_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("polymeans.persistence.layout.LONGEST_HEADER", 100)
    with pytest.raises(ValueError, match="holds up to 100"):
        write_arrays(tmp_path / "a", {"b": np.zeros(3)}, {"text": json.dumps("x" * 100)})
    assert list(tmp_path.iterdir()) == []
