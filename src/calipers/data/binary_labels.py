"""Binary class labels: the positive class, its predictions and its probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import check_length, is_missing, to_probabilities
from calipers.data.class_labels import (
    ClassLabels,
    EncodedLabels,
    check_predicted,
    encode_classes,
    encode_labels,
    find_label,
    label_index,
    label_name,
    sort_labels,
)
from calipers.data.class_probabilities import is_one_column, is_table, probability_matrix
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class BinaryLabels:
    """Class names, negative class first, and the class of each row.

    ``positive`` is the mask of the positive rows. ``others`` are the classes that make up the
    negative one when the truth has more than two classes.
    """

    names: tuple[str, str]
    positive: npt.NDArray[np.bool_]
    others: tuple[str, ...] = ()
    #: All classes, in order.
    classes: tuple[str, ...] = ()


def encode_binary(
    truth: Any,
    positive: Any = None,
    input_name: str = "truth",
    *,
    predicted_classes: Iterable[str] = (),
    class_pair: Sequence[Any] | None = None,
) -> BinaryLabels:
    """Encode the truth of a binary problem and determine its positive class.

    Without ``positive``, 1 (or True) is positive against 0 (or −1, or False); for any other pair
    of labels the positive one has to be named. With it, all other classes make up the negative
    one. If all rows belong to one class, the other is the one that forms such a pair with it, or
    one in ``predicted_classes``: classes that systems predict. ``class_pair`` names the two classes
    if they were given.
    """
    column = encode_labels(truth, input_name)
    if class_pair is not None:
        column = EncodedLabels(
            tuple(class_pair),
            encode_classes(column, class_pair, input_name=input_name).codes,
            ordered=True,
        )
        names = [label_name(label) for label in class_pair]
        if positive is not None and find_label(label_index(names), label_name(positive)) is None:
            raise InputError(
                f"positive: {format_value(positive)} is not one of labels; "
                + did_you_mean(label_name(positive), names)
            )
    labels = list(column.labels)
    if len(labels) == 1:
        labels += _other_class(column.names[0], positive, list(predicted_classes), input_name)
    if len(labels) > 2 and positive is None:
        first_rows = [int(np.argmax(column.codes == code)) for code in range(len(labels))]
        first_class, second, third = sorted(
            zip(first_rows, labels, strict=True), key=lambda pair: pair[0]
        )[:3]
        raise InputError(
            f"{input_name}: has a third class {format_value(third[1])} in row {third[0]}, in "
            f"addition to {format_value(first_class[1])} and {format_value(second[1])}; expected "
            "two "
            "classes"
        )
    names = [label_name(label) for label in labels]
    positive_index = labels.index(_positive_label(labels, positive, input_name))
    others = tuple(name for name in names if name != names[positive_index])
    negative = others[0] if len(others) == 1 else f"not {names[positive_index]}"
    collapsed = others if len(others) > 1 else ()
    return BinaryLabels(
        (negative, names[positive_index]),
        column.codes == positive_index,
        collapsed,
        tuple(names if class_pair is not None else sort_labels(names)),
    )


def is_binary_problem(
    labels: Sequence[Any], positive: Any, score: Any, probability: Any, threshold: Any
) -> bool:
    """Return whether ``labels`` only name the two classes of a binary problem.

    This is so if there are two labels and the positive one or a threshold is given, or if scores
    come in one column.
    """
    if len(labels) != 2:
        return False
    if positive is not None or threshold is not None:
        return True
    score_columns = [values for values in (score, probability) if values is not None]
    names = [label_name(label) for label in labels]
    return bool(score_columns) and all(is_one_column(values, names) for values in score_columns)


#: Pairs of labels of which the second is known to be the positive one.
_KNOWN_PAIRS = (("0", "1"), ("-1", "1"), ("False", "True"), ("false", "true"))


def find_positive_class(names: Sequence[str]) -> int | None:
    """Return the index of the positive class of two names that form a known pair, else None."""
    for low, high in _KNOWN_PAIRS:
        if set(names) == {low, high}:
            return list(names).index(high)
    return None


def paired_label(name: str) -> str | None:
    """Return the class that forms a pair with this one in which it is clear which is positive."""
    return next(((set(pair) - {name}).pop() for pair in _KNOWN_PAIRS if name in pair), None)


def _other_class(
    name: str, positive: Any, predicted_classes: Sequence[str], input_name: str
) -> list[str]:
    """Return the second class of a truth that has only one, or raise an error if it is unknown."""
    positive_name = None if positive is None else label_name(positive)
    others = {second_class for second_class in predicted_classes if second_class != name}
    pairs = [(set(pair) - {name}).pop() for pair in _KNOWN_PAIRS if name in pair]
    if positive_name not in (None, name):
        others &= {positive_name}
        pairs = [second_class for second_class in pairs if second_class == positive_name]
    if len(others) == 1:
        return list(others)
    if pairs:
        return pairs[:1]
    if positive_name == name:
        return [f"not {name}"]
    raise InputError(
        f"{input_name}: has only one class ({format_value(name)}), and the other is unknown; name "
        "both (labels=[…]), or the positive one if it is this one (positive=…)"
    )


def _positive_label(labels: list[Any], positive: Any, input_name: str) -> Any:
    if positive is not None:
        if is_missing(positive):
            raise InputError("positive is missing, expected a class")
        class_text, names = label_name(positive), [label_name(label) for label in labels]
        if (index := find_label(label_index(names), class_text)) is not None:  # True is 1
            return labels[index]
        raise InputError(
            f"{input_name}: no row has the class {format_value(positive)} that was named positive; "
            + did_you_mean(class_text, names)
        )
    name_set = {label_name(label) for label in labels}
    for low, high in _KNOWN_PAIRS:
        if name_set == {low, high}:
            return next(label for label in labels if label_name(label) == high)
    # The other class of a truth that has only one is known only by its name.
    is_text = all(isinstance(label, str) for label in labels)
    class_text = " and ".join(
        sorted(format_value(label) if is_text else label_name(label) for label in labels)
    )
    raise InputError(
        f"{input_name}: has the classes {class_text}; say which one is positive (positive=…)"
    )


def encode_predictions(
    predicted: Any, labels: BinaryLabels, input_name: str
) -> npt.NDArray[np.bool_]:
    """Encode predictions as the mask of the rows that are predicted to be positive."""
    negative, positive = labels.names
    column = encode_labels(predicted, input_name)
    check_predicted(column, labels.classes, input_name)
    check_length(column.codes, len(labels.positive), input_name)
    index_by_label = label_index(labels.classes)
    class_indices = [find_label(index_by_label, name) for name in column.names]
    # With several classes, a system may predict one that no row has; it is not the positive one.
    if None in class_indices and not labels.others:
        code = class_indices.index(None)
        row = int(np.argmax(column.codes == code))
        raise InputError(
            f"{input_name}: {format_value(column.labels[code])} in row {row} is not a class of the "
            f"truth; expected {negative!r} or {positive!r}"
        )
    return np.array(
        [class_index == index_by_label[positive] for class_index in class_indices], bool
    )[column.codes]


def positive_probability(
    probability: Any, labels: BinaryLabels, input_name: str
) -> npt.NDArray[np.floating[Any]]:
    """Return the probability of the positive class, given its column or one column per class."""
    if not is_table(probability):
        return to_probabilities(probability, input_name)
    any_class = np.zeros(len(labels.positive), np.intp)
    table = probability_matrix(probability, ClassLabels(labels.classes, any_class), input_name)[0]
    return table[:, labels.classes.index(labels.names[1])]
