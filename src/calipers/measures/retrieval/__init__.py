"""Measures of retrieval, one value per topic.

R is the number of documents of the topic judged ``rel`` or better; unjudged documents count as not
relevant unless a measure says otherwise. A topic that a run leaves out scores 0, as one for which
it retrieves nothing. Where a measure needs a relevant document and the topic has none, it is
undefined there.
"""
