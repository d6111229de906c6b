"""Real files of every format, with the same rows."""

import csv
import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_iris

from polymeans.datasets import make_posts

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]

#: Files that hold the rows of iris.
FILES = [
    "rows.csv",
    "bare.csv",
    "semicolons.csv",
    "quoted.csv",
    "rows.tsv",
    "rows.parquet",
    "rows.npy",
    "rows.npz",
    "sparse.npz",
    "rows.svm",
    "rows.mtx",
    "dense.mtx",
    "rows.jsonl",
    "lists.jsonl",
]


@pytest.fixture(scope="session")
def iris():
    return load_iris().data


@pytest.fixture(scope="session")
def folder(tmp_path_factory, iris):
    """A folder with all files; tests write elsewhere."""
    path = tmp_path_factory.mktemp("files")
    kinds = load_iris().target_names[load_iris().target]
    with_names = [NAMES, *iris.tolist()]
    for name, rows, options in [
        ("rows.csv", with_names, {}),
        ("bare.csv", iris.tolist(), {}),
        ("semicolons.csv", with_names, {"delimiter": ";"}),
        ("quoted.csv", with_names, {"quoting": csv.QUOTE_ALL}),
        ("rows.tsv", with_names, {"delimiter": "\t"}),
        ("kinds.csv", [[*NAMES, "kind"], *([*r, k] for r, k in zip(iris.tolist(), kinds))], {}),
    ]:
        with open(path / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, **options).writerows(rows)
    columns = {name: iris[:, i] for i, name in enumerate(NAMES)}
    table = pyarrow.table(columns)
    pyarrow.parquet.write_table(table, path / "rows.parquet", row_group_size=40)
    table = pyarrow.table(columns | {"kind": kinds.tolist()})
    pyarrow.parquet.write_table(table, path / "kinds.parquet")
    np.save(path / "rows.npy", iris)
    np.savez(path / "rows.npz", X=iris, y=np.arange(150))
    sp.save_npz(path / "sparse.npz", sp.csr_matrix(iris))
    dump_svmlight_file(iris, np.zeros(150), str(path / "rows.svm"), zero_based=False)
    scipy.io.mmwrite(path / "rows.mtx", sp.coo_matrix(iris))
    scipy.io.mmwrite(path / "dense.mtx", iris)
    with open(path / "rows.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(dict(zip(NAMES, row))) + "\n" for row in iris.tolist())
    with open(path / "lists.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in iris.tolist())
    posts, topics = make_posts(300, n_topics=4, random_state=0)
    with open(path / "posts.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body"])
        # Line breaks, quotes and commas within a cell.
        writer.writerows([i, f'"{post}",\nsaid {i}'] for i, post in enumerate(posts))
    np.save(path / "topics.npy", topics)
    texts = pyarrow.table({"id": range(300), "body": posts})
    pyarrow.parquet.write_table(texts, path / "posts.parquet")
    with open(path / "posts.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": i, "body": post}) + "\n" for i, post in enumerate(posts))
    return path
