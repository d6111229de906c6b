"""What readers are asked for, and what they return."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """Which part of a file is wanted, and how much memory it may take."""

    columns: list[str] | None = None  #: names, in this order; None: all but those below
    text: str | None = None  #: column whose texts are wanted instead of numbers
    beside: str | None = None  #: column that is wanted as texts beside the rows
    delimiter: str | None = None
    header: bool | None = None  #: whether the first line has names; None: if it is no numbers
    key: str | None = None  #: name of an array
    n_features: int | None = None  #: of the model the rows are for
    first_feature: int | None = None  #: number of the first feature in svm files; None: see there
    memory: int = 2**30  #: bytes of rows that may be held
    scratch: Path = field(default_factory=Path)  #: folder for what does not fit into them


@dataclass
class Table:
    """Rows, texts or both."""

    rows: Any = None  #: array, CSR matrix or Blocks
    names: list[str] | None = None  #: of the columns, where the file has names
    texts: list[str] | None = None
    beside: list[str] | None = None
    first_feature: int | None = None
    note: str | None = None  #: what was assumed about the file, if it may be wrong

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        if self.texts is not None:
            return len(self.texts)
        return int(getattr(self.rows, "n_samples", None) or self.rows.shape[0])
