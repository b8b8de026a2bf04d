"""What -h prints."""

from __future__ import annotations

from calipers.cli.trec_eval.options import Options
from calipers.cli.trec_eval.table import NICKNAMES, TABLE

OPTIONS = """\
trec_eval [options] judgments results

Prints how well a run (results) ranks the documents that the judgments name, in the format of
trec_eval. "-" as results reads them from stdin.

Of the measures and the topics:
  -m, --measure NAME[.PARAMETERS]   a measure or a nickname, repeatable; parameters are separated by
                                    commas, as in -m P.5,10 -m ndcg.1=3,2=9 (default: official)
  -l, --level_for_rel N             the lowest judgment that counts as relevant (default: 1)
  -c, --complete_rel_info_wanted    average over all judged topics; those that the results leave out
                                    are evaluated as if one unjudged document had been retrieved
  -J, --Judged_docs_only            take unjudged documents out of the rankings first
  -M, --Max_retrieved_per_topic N   take only the first N documents of each topic
  -N, --Number_docs_in_coll N       documents in the collection, for utility (default: 0)
  -D, --Debug_level N[.TOPIC]       evaluate this topic only; N has no effect

Of the files:
  -R, --Rel_info_format FORMAT      qrels, qrels_jg, prefs or qrels_prefs (default: qrels)
  -T, --Results_format FORMAT       trec_results

Of the output:
  -q, --query_eval_wanted           print the values of each topic, too
  -n, --nosummary                   print no values over all topics
  -Z, --Zscore FILE                 print z-scores; lines of FILE are "topic measure mean deviation"
  -o                                no effect
  -h, --help                        this, and the description of every measure named by -m
  -v, --version

One that the original does not have:
  --conventions 9                   as version 9 of the original: scores of 32 bits, topics without
                                    results passed over, no rbp, rbp_resid and unj
"""

RESULTS = """\
Results, format trec_results: lines of "topic Q0 document rank score tag". The rank is ignored:
documents are put in order by descending score, those of equal score by descending id. Further
fields, blank lines and lines that begin with # are ignored.
"""

JUDGMENTS = {
    "qrels": """\
Judgments, format qrels: lines of "topic iteration document judgment", a whole number. A negative
one says that the document was pooled but not judged. Lines that begin with # are ignored.
""",
    "qrels_jg": """\
Judgments, format qrels_jg: lines of "topic assessor document judgment". Measures are computed by
the judgments of each assessor, then averaged over the assessors of a topic.
""",
    "prefs": """\
Judgments, format prefs: lines of "topic group part document level". Within a part of a group, a
document is preferred to those of lower level; levels of different parts are not compared, but
preferences of a group carry on from part to part. Level 0 says that a document is not relevant.
""",
    "qrels_prefs": """\
Judgments, format qrels_prefs: lines as in qrels, read as preferences: "topic group document level",
where a group has one part. Documents of equal score are put in order by ascending id.
""",
}


def help_text(options: Options) -> str:
    """The options, the formats that were chosen, and the measures that were."""
    nicknames = (f"  {name:<10} {' '.join(names)}\n" for name, names in NICKNAMES.items())
    parts = [OPTIONS, "Nicknames:\n" + "".join(nicknames)]
    if options.results_format == "trec_results":
        parts.append(RESULTS)
    if options.judgments_format in JUDGMENTS:
        parts.append(JUDGMENTS[options.judgments_format])
    if options.measures:
        for name in options.chosen:
            lines = (f"  {line}".rstrip() for line in TABLE[name].description.splitlines())
            parts.append("\n".join([name, *lines, ""]))
    else:
        parts.append("Name measures with -m to read here what they are.\n")
    return "\n".join(parts)
