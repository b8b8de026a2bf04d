"""The verbs, one file a task: they bring data, statistics, measures and inference together."""

from calipers.evaluate.classification import classification
from calipers.evaluate.compare import compare
from calipers.evaluate.regression import regression
from calipers.evaluate.retrieval import retrieval
from calipers.evaluate.value import value_of

__all__ = ["classification", "compare", "regression", "retrieval", "value_of"]
