"""The one error for everything that a model file may have wrong."""


class ModelFileError(ValueError):
    """A file that is no model, is damaged, or was written by a newer version of the library.

    **Idea.** Whatever a file has wrong, :func:`polymeans.load` raises this error and says what and
    where; nothing of the file is used.

    **Use when** files may be damaged or come from elsewhere: catch it around
    :func:`polymeans.load`. **Do not use** for files that cannot be opened: those raise ``OSError``
    as elsewhere in Python.

    **Cost.** None.

    See Also
    --------
    polymeans.load : Raises it.
    polymeans.save : Writes files that can be loaded.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polymeans
    >>> from polymeans.persistence import ModelFileError
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     _ = path.write_bytes(b"no model")
    ...     try:
    ...         polymeans.load(path)
    ...     except ModelFileError as error:
    ...         print(type(error).__name__)
    ModelFileError
    """
