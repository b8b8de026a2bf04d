"""Serialisation of many statistics at once, for the communication of processes and for files.

The format is a zip archive of plain NumPy arrays (no pickle) with a header in JSON, which describes
the objects made of them. Shared objects are stored once; numbers that fit into a smaller type
without loss are stored in it. The archive has a checksum of each part, so that damage is detected.
"""

from __future__ import annotations

import errno
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from calipers import statistics
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import Statistic

if TYPE_CHECKING:
    import numpy.typing as npt

#: Beginning of a header, and version of the layout of the archive.
FORMAT, VERSION = "calipers statistics", 2

#: Names of classes in version 1 that have changed.
RENAMED_CLASSES = {
    "ClassRows": "ClassScoreRows",
    "Largest": "LargestResiduals",
    "LookedAt": "SampledRows",
    "Commonest": "MajorityValue",
    "NumberMoments": "NumericMoments",
    "NumberRows": "NumericRows",
    "OccupiedMatrix": "SparseConfusionMatrix",
    "Passed": "FirstPassResult",
    "ScoreParts": "SubsetScores",
    "Separations": "ClusterSeparation",
    "Several": "StatisticVector",
    "SummedLogits": "LogitSummary",
    "Weighed": "WeightMoments",
}

#: Former names of their fields, by the current name of the class. (Those of statistics in JSON are
#: in ``former_fields`` of the class.)
RENAMED_FIELDS: Mapping[str, Mapping[str, str]] = {
    "ClassLosses": {"lost": "losses", "sizes": "class_weights"},
    "ClassTables": {"sizes": "class_weights"},
    "ClusterMoments": {"apart": "summed_distances", "centres": "centers"},
    "ClusterSeparation": {"apart": "min_distances"},
    "ContingencyTable": {"held": "cell_counts"},
    "FirstPassResult": {"beside": "auxiliary", "lost": "n_dropped", "seen": "inspected_rows"},
    "Histogram": {"kept": "n_largest", "least": "min_value", "most": "max_value"},
    "LargestResiduals": {"held": "row_weights"},
    "LogitSummary": {"ends": "logit_ranges"},
    "MajorityValue": {"held": "n_majority"},
    "RatingRows": {"held": "item_counts", "many": "has_too_many_rows"},
    "Ratings": {"held": "item_counts"},
    "SparseConfusionMatrix": {
        "held": "cell_counts",
        "held_squares": "cell_squares",
        "place": "cell_index",
    },
    "StatisticVector": {"parts": "components"},
    "WeightMoments": {"least": "min_weight", "most": "max_weight"},
}

#: Former names of the keys of a description.
_RENAMED_KEYS = {"again": "reference", "number": "index"}

#: Types that are written: plain values, arrays and statistics, and dicts and lists of these.
Tree: TypeAlias = Any

_HEADER = "header.json"
#: Exceptions that other zip archives, or random bytes, may raise.
_DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,
    RuntimeError,
)
#: Number of bytes that are read at a time to verify a checksum.
_CHUNK_SIZE = 1 << 20
#: Types of non-negative integers that :func:`narrow` tries, from the smallest.
_UNSIGNED_TYPES = ("uint8", "uint16", "uint32")


class CorruptError(ValueError):
    """Exception for data that cannot be read as statistics.

    They are something else, are damaged, or were written by a version with another layout.
    """


def to_bytes(tree: Tree) -> bytes:
    """Serialise a tree to bytes.

    Parameters
    ----------
    tree : object
        None, strings, numbers, arrays of numbers, :class:`Statistic`, dataclasses that
        ``extra_types`` of :func:`from_bytes` names, and dicts (with strings as keys), lists and
        tuples of all these.

    Returns
    -------
    bytes
        Serialised tree.

    Raises
    ------
    TypeError
        If the tree contains another type, or an array of objects.

    See Also
    --------
    from_bytes : Restore the tree.

    Examples
    --------
    >>> from calipers.statistics import Moments
    >>> day = Moments.from_rows(np.array([1.0, 2.0, 4.0]))
    >>> back = from_bytes(to_bytes({"rows": 3, "loss": day}))
    >>> back["rows"], back["loss"] == day
    (3, True)
    """
    buffer = io.BytesIO()
    write(buffer, tree)
    return buffer.getvalue()


def from_bytes(data: bytes, extra_types: tuple[type, ...] = ()) -> Tree:
    """Restore a tree that :func:`to_bytes` serialised.

    Parameters
    ----------
    data : bytes
        Serialised tree.
    extra_types : tuple of type, default=()
        Dataclasses, apart from the statistics, that the tree may contain.

    Returns
    -------
    object
        Tree.

    Raises
    ------
    CorruptError
        If the bytes are not statistics, are damaged, or have another version.
    """
    return read(io.BytesIO(data), extra_types)


def write(stream: IO[bytes], tree: Tree) -> None:
    """Write a tree to a stream, as :func:`to_bytes` does."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        writer = _Writer(archive)
        header = {"format": FORMAT, "version": VERSION, "tree": writer.encode(tree)}
        archive.writestr(_HEADER, json.dumps(header))


def read(stream: IO[bytes], extra_types: tuple[type, ...] = ()) -> Tree:
    """Read a tree from a stream, as :func:`from_bytes` does."""
    try:
        with zipfile.ZipFile(stream) as archive:
            header = json.loads(archive.read(_HEADER))
            if header["format"] != FORMAT:
                raise CorruptError("holds no statistics")
            if header["version"] not in (1, VERSION):
                raise CorruptError(
                    f"has version {header['version']} of the format, expected {VERSION}; it was "
                    "written by another version of calipers"
                )
            type_by_name = {extra_type.__name__: extra_type for extra_type in extra_types}
            return _Reader(archive, type_by_name).decode(header["tree"])
    except CorruptError:
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:  # an offset outside the file
            raise
        raise CorruptError(f"is damaged ({error})") from None
    except _DAMAGE_ERRORS as error:
        raise CorruptError(f"holds no statistics, or is damaged ({error})") from None


def narrow(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert an array to a smaller type that represents its numbers exactly, if there is one.

    The types are unsigned integers of 8, 16 and 32 bits for counts and indices, and float32 for
    other numbers. Arrays with negative integers, of which statistics have few, and arrays that are
    neither float64 nor int64 are returned as they are.

    Examples
    --------
    >>> narrow(np.array([0.0, 3.0, 200.0])).dtype, narrow(np.array([0.1])).dtype
    (dtype('uint8'), dtype('float64'))
    """
    if array.dtype not in (np.float64, np.int64) or not array.size:
        return array
    low, high = array.min(), array.max()
    for type_name in _UNSIGNED_TYPES if array.dtype == np.int64 else (*_UNSIGNED_TYPES, "float32"):
        dtype = np.dtype(type_name)
        if dtype.kind == "u" and not (low >= 0 and high <= np.iinfo(dtype).max):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            narrowed = array.astype(dtype)
        # Bit for bit, so that −0 and NaN stay what they are.
        if np.array_equal(narrowed.astype(array.dtype).view(np.int64), array.view(np.int64)):
            return narrowed
    return array


class _Writer:
    """Writer of arrays into an archive, each once, with a description of the objects in JSON."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        #: Values written so far, by identity; referenced, so that no identity is reused.
        self._cache: dict[int, tuple[Any, dict[str, Any]]] = {}

    def encode(self, value: Tree) -> Any:
        """Return the description of a value in JSON."""
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, list):
            return [self.encode(item) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self.encode(item) for item in value]}
        if isinstance(value, Mapping):
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if id(value) not in self._cache:
            index = len(self._cache)
            self._cache[id(value)] = value, {"reference": index}
            description = (
                self._encode_array(value)
                if isinstance(value, np.ndarray)
                else self._encode_object(value)
            )
            return description | {"index": index}
        return self._cache[id(value)][1]

    def _encode_array(self, array: npt.NDArray[Any]) -> dict[str, Any]:
        if array.dtype.hasobject:
            raise TypeError("arrays of objects are not written")
        name = f"{len(self._cache)}.npy"
        with self._archive.open(name, "w", force_zip64=True) as stream:
            np.lib.format.write_array(stream, narrow(np.asarray(array)), allow_pickle=False)
        return {"array": name, "dtype": array.dtype.str}

    def _encode_object(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Statistic):
            value = value.finalize()
            value_by_field = value._field_values()
        elif is_dataclass(value):
            value_by_field = {field.name: getattr(value, field.name) for field in fields(value)}
        else:
            raise TypeError(f"{type(value).__name__} is not written")
        encoded_fields = {
            name: self.encode(field_value) for name, field_value in value_by_field.items()
        }
        return {"kind": type(value).__name__, "parts": encoded_fields}


class _Reader:
    """Reader of objects from the arrays of an archive and their description."""

    def __init__(self, archive: zipfile.ZipFile, extra_types: Mapping[str, type]) -> None:
        self._archive, self._extra_types = archive, extra_types
        self._cache: dict[int, Any] = {}

    def decode(self, description: Any) -> Tree:
        """Restore a value from its description in JSON."""
        if isinstance(description, list):
            return [self.decode(item) for item in description]
        if not isinstance(description, dict):
            return description
        if "tuple" in description:
            return tuple(map(self.decode, description["tuple"]))
        if "dict" in description:
            return {self.decode(key): self.decode(item) for key, item in description["dict"]}
        description = {_RENAMED_KEYS.get(key, key): entry for key, entry in description.items()}
        if "reference" in description:
            return self._cache[description["reference"]]
        value = self._cache[description["index"]] = (
            self._decode_array(description)
            if "array" in description
            else self._decode_object(description)
        )
        return value

    def _decode_array(self, description: Mapping[str, Any]) -> npt.NDArray[Any]:
        with self._archive.open(description["array"]) as stream:
            while stream.read(_CHUNK_SIZE):
                pass  # to its end, where the checksum is verified before anything is used
        with self._archive.open(description["array"]) as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
        return np.asarray(array, np.dtype(description["dtype"]))

    def _decode_object(self, description: Mapping[str, Any]) -> Any:
        name = RENAMED_CLASSES.get(description["kind"], description["kind"])
        statistic_type: Callable[..., Any] = self._extra_types.get(name) or _statistic_class(name)
        names = RENAMED_FIELDS.get(name) or getattr(statistic_type, "former_fields", {})
        decoded_fields = {
            names.get(field_name, field_name): self.decode(field_value)
            for field_name, field_value in description["parts"].items()
        }
        return partial(statistic_type)(**decoded_fields)


def _statistic_class(name: str) -> type[Statistic]:
    """Return the class of statistics of this name."""
    if name == "LogitSummary":
        from calipers.statistics.logits import LogitSummary

        return LogitSummary
    statistic_type = getattr(statistics, name) if name in statistics.__all__ else None
    if not (isinstance(statistic_type, type) and issubclass(statistic_type, Statistic)):
        raise CorruptError(f"holds {name!r}, which is not a statistic")
    return statistic_type
