"""Measures of retrieval, one value per topic.

R is the number of documents of the topic judged ``rel`` or better; unjudged documents count as not
relevant unless a measure says otherwise. A topic that a run leaves out scores 0, as one for which
it retrieves nothing. Where a measure needs a relevant document and the topic has none, it is
undefined there.
"""

# In the order in which the catalogue lists them.
# ruff: isort: off
from calipers.measures.retrieval import sets, rankings, gains, users, judging

__all__ = ["gains", "judging", "rankings", "sets", "users"]
