"""Model files as bytes: taken apart, changed, and put together again."""

import json

from polymeans.persistence.files import digest
from polymeans.persistence.layout import read_arrays


def header_of(content):
    """The JSON header of a file, and the bytes after it."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def with_header(header, data):
    """A file of this header and data."""
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data


def with_model(content, change):
    """A file whose description of the model is changed by a function, as JSON."""
    header, data = header_of(content)
    model = json.loads(header["__metadata__"]["model"])
    changed = change(model)
    header["__metadata__"]["model"] = json.dumps(model if changed is None else changed)
    return with_header(header, data)


def signed(content, path):
    """The same file with the digest that it should have, for files that are wrong on purpose."""
    header, data = header_of(content)
    path.write_bytes(content)
    arrays, texts = read_arrays(path)
    header["__metadata__"]["digest"] = digest(arrays, texts)
    return with_header(header, data)
