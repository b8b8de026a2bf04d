"""Measures of retrieval, with one value per topic.

R is the number of documents of the topic with a grade of ``rel`` or more. Unjudged documents count
as non-relevant unless a measure says otherwise. A topic that is missing from a run scores 0, as if
nothing had been retrieved for it. If a measure needs a relevant document and the topic has none, it
is undefined for the topic.
"""
