"""What trec_eval prints, worked out document by document from its description.

Plain loops over lists, in which nothing of Calipers has a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import copysign, exp, inf, isnan, log, log2, nan, trunc

DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS = tuple(t / 10 for t in range(11))
FIFTHS = tuple(t / 5 for t in range(1, 11))
COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")


@dataclass
class Asked:
    """The options, already understood: parameters by name of the measure, as text."""

    measures: dict[str, str | None]
    per_topic: bool = False
    summary: bool = True
    complete: bool = False
    judged_only: bool = False
    level: int = 1
    depth: int | None = None
    collection_size: int = 0
    version: int = 10
    topic: str | None = None


Judgments = dict[str, dict[str, int]]
Results = dict[str, list[tuple[str, float]]]


def printed(
    asked: Asked,
    qrels: Judgments,
    results: Results,
    tag: str,
    again: Sequence[tuple[str, int]] = (),
) -> tuple[str, int]:
    """The text and the exit code; ``again`` are topics and grades of documents judged twice."""
    repeated = {topic for topic, _ in again}
    lines: list[str] = []
    columns: dict[int, tuple[str, str, list[float]]] = {}
    count = 0
    for topic in sorted(qrels, key=str.encode):
        if asked.topic is not None and topic != asked.topic:
            continue
        missing = topic not in results
        if missing and asked.version == 9:
            continue
        if missing and not asked.complete:
            return "".join(lines) if asked.per_topic else "", 4
        ranking = [("nothing of the kind", 1.0)] if missing else results[topic]
        looks = asked.measures.keys() - {"runid", "num_q"}
        if looks and (topic in repeated or not usable(asked, qrels[topic], ranking, count == 0)):
            return "".join(lines) if asked.per_topic else "", 4
        for place, (measure, name, exact) in enumerate(values(asked, qrels[topic], ranking)):
            value = blanked(name) if missing and blanked(name) is not None else exact
            if asked.per_topic and measure not in ("num_q", "gm_map", "gm_bpref"):
                lines.append(line(name, topic, measure, value))
            if not isinstance(value, str):
                columns.setdefault(place, (measure, name, []))[2].append(value)
        count += 1
    if count == 0:
        return "", 7
    topics = len(qrels) if asked.complete else count
    if asked.summary:
        if "runid" in asked.measures:
            lines.append(f"{'runid':<22}\tall\t{tag}\n")
        for measure, name, column in columns.values():
            total = 0.0
            for value in column:
                total += value
            if measure == "num_q":
                total = float(topics)
            elif measure == "num_rel" and asked.complete:
                rels = [rel for judged in qrels.values() for rel in judged.values()]
                total = float(sum(rel > 0 for rel in [*rels, *(rel for _, rel in again)]))
            elif measure.startswith("gm_"):
                total = exp((total + (topics - count) * log(0.00001)) / topics)
            elif measure not in COUNTS:
                total /= topics
            lines.append(line(name, "all", measure, total))
    return "".join(lines), 0


def usable(
    asked: Asked, judged: dict[str, int], ranking: Sequence[tuple[str, float]], first: bool
) -> bool:
    """Whether no document stands twice as far down as is looked, and the levels have room: there is
    none for a first topic without any, and none for one that is even below -1."""
    seen = [document for document, _ in ordered(asked, ranking)]
    return len(set(seen)) == len(seen) and max(judged.values()) >= (0 if first else -1)


def ordered(asked: Asked, ranking: Sequence[tuple[str, float]]) -> Sequence[tuple[str, float]]:
    """The highest documents, as many as are asked for."""

    def key(entry: tuple[str, float]) -> tuple[float, bytes]:
        return entry[1], entry[0].encode()

    return sorted(ranking, key=key, reverse=True)[: asked.depth]


def blanked(name: str) -> float | str | None:
    """What stands for a topic that the results leave out, where that is not its value."""
    if name == "relstring":
        return ""
    return 0.0 if name in ("num_ret", "utility", "rbp_resid") or name[:3] == "unj" else None


def line(name: str, topic: str, measure: str, value: float | str) -> str:
    if isinstance(value, str):
        shown = f"'{value}'"
    elif measure in COUNTS:
        shown = f"{trunc(value)}"
    else:
        shown = "  -nan" if isnan(value) else f"{value:6.4f}"
    return f"{name:<22}\t{topic}\t{shown}\n"


def values(
    asked: Asked, judged: dict[str, int], ranking: Sequence[tuple[str, float]]
) -> Iterator[tuple[str, str, float | str]]:
    rels = []
    for document, _ in ordered(asked, ranking):
        rel = judged.get(document)
        rels.append(-1 if rel is None else -2 if rel < 0 else rel)
    if asked.judged_only:
        rels = [rel for rel in rels if rel >= 0]
    topic = Topic(asked, rels, sorted((r for r in judged.values() if r >= 0), reverse=True))
    for measure, lines in MEASURES.items():
        if measure in asked.measures:
            for name, value in lines(topic, measure, asked.measures[measure]):
                yield measure, name, value


@dataclass
class Topic:
    """One topic: the judgments of the ranking, and all judgments, best first."""

    asked: Asked
    rels: list[int]
    judged: list[int]

    def __post_init__(self) -> None:
        level = self.asked.level
        self.hits = [rel >= level for rel in self.rels]
        self.relevant = sum(rel >= level for rel in self.judged)
        self.found = sum(rel >= max(level, 0) for rel in self.rels)
        self.retrieved = len(self.rels)

    def within(self, k: int) -> int:
        return sum(self.hits[:k])

    def average_precision(self, k: int | None = None) -> float:
        total, so_far = 0.0, 0
        for rank, hit in enumerate(self.hits[:k], 1):
            if hit:
                so_far += 1
                total += so_far / rank
        return total

    def bpref(self) -> float:
        level = self.asked.level
        nonrelevant = sum(rel < level for rel in self.judged)
        total, above = 0.0, 0
        for rel in self.rels:
            if 0 <= rel < level:
                above += 1
            elif rel >= 0:
                lost = min(above, self.relevant) / min(nonrelevant, self.relevant) if above else 0.0
                total += 1.0 - lost
        return total / self.relevant if self.relevant else total

    def step(self, recall: float) -> int:
        share = recall * self.relevant
        if self.asked.version == 9:
            return trunc(share + 0.9)
        return trunc(share + copysign(0.5, share))

    def interpolated(self, points: Sequence[float]) -> list[float]:
        """For each of the recalls, the highest precision from there on, from the last one back."""
        cutoffs = [self.step(point) for point in points]
        out = [0.0] * len(points)
        at = len(points) - 1
        while at >= 0 and cutoffs[at] > self.found:
            at -= 1
        best = self.found / self.retrieved if self.retrieved else nan
        left = self.found
        for rank in range(self.retrieved, 0, -1):
            if left == 0:
                break
            best = max(best, left / rank)
            if self.hits[rank - 1]:
                while at >= 0 and cutoffs[at] == left:
                    out[at] = best
                    at -= 1
                left -= 1
        while at >= 0:
            out[at] = best
            at -= 1
        return out

    def gains(self, text: str | None) -> tuple[list[float], list[float]]:
        """Of the ranking, and of the best list that the judgments make."""
        given: dict[int, float] = {}
        for pair in text.split(",") if text else []:
            key, value = pair.split("=")
            if key.lstrip("+-").isdigit():
                given.setdefault(int(key), float(value))
        gains = [given.get(rel, max(rel, 0)) for rel in self.rels]
        levels = [[grade, gain] for grade, gain in given.items()]
        levels += [[g, g] for g in range(max(self.judged, default=-1) + 1) if g not in given]
        merge_sort(levels, 0, len(levels))
        ideal: list[float] = []
        for place, (grade, gain) in enumerate(reversed(levels)):
            count = self.judged.count(grade)
            if gain <= 0 and (count > 0 or place == 0):
                break
            ideal += [gain] * count
        return gains, ideal


def merge_sort(levels: list[list[float]], first: int, last: int) -> None:
    """By ascending gain, where only the whole part of a difference counts."""
    if last - first < 2:
        return
    middle = first + (last - first) // 2
    merge_sort(levels, first, middle)
    merge_sort(levels, middle, last)
    low, high, merged = levels[first:middle], levels[middle:last], []
    while low and high:
        source = high if trunc(low[0][1] - high[0][1]) > 0 else low
        merged.append(source.pop(0))
    levels[first:last] = merged + low + high


def discounted(gains: Sequence[float], k: int | None = None) -> float:
    total = 0.0
    for rank, gain in enumerate(gains[:k], 1):
        total += gain / log2(rank + 1)
    return total


def joined(name: str, text: str | None) -> str:
    return name if text is None else f"{name}_{text}"


def one(value: Callable[[Topic], float]) -> Callable[..., list[tuple[str, float]]]:
    return lambda topic, name, text: [(name, value(topic))]


def at_ranks(
    value: Callable[[Topic, int], float], usual: Sequence[int] = DEPTHS
) -> Callable[..., list[tuple[str, float]]]:
    def all_ranks(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
        ranks = sorted(int(float(k)) for k in text.split(",")) if text else usual
        return [(f"{name}_{k}", value(topic, k)) for k in ranks]

    return all_ranks


def share(a: float, b: float) -> float:
    return a / b if b else 0.0


def geometric(value: float) -> float:
    return log(max(value, 0.00001))


def inferred(topic: Topic) -> float:
    epsilon, total = 0.00001, 0.0
    relevant = other = pooled = 0
    for rank, rel in enumerate(topic.rels, 1):
        if rel == -2:
            pooled += 1
        elif 0 <= rel < topic.asked.level:
            other += 1
        elif rel >= 0:
            if rank == 1:
                total += 1
            else:
                known = (relevant + other + pooled) / (rank - 1)
                good = (relevant + epsilon) / (relevant + other + 2 * epsilon)
                total += 1 / rank + (rank - 1) / rank * known * good
            relevant += 1
    return total / topic.relevant if topic.relevant else total


def interpolated(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    points = sorted(map(float, text.split(","))) if text else TENTHS
    named = zip(points, topic.interpolated(points), strict=True)
    return [(f"{name}_{point:3.2f}", value) for point, value in named]


def eleven_points(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    points = list(map(float, text.split(","))) if text else TENTHS
    total = 0.0
    for value in reversed(topic.interpolated(points)):
        total += value
    return [(joined(name, text), total / len(points))]


def multiples(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    out = []
    for m in sorted(map(float, text.split(","))) if text else FIFTHS:
        k = trunc(m * topic.relevant + 0.9)
        # Counted from the end of the ranking.
        hits = max(topic.found - sum(topic.hits[max(k, 0) :]), 0)
        out.append((f"{name}_{m:3.2f}", hits / k if k > 0 else 0.0))
    return out


def utility(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    a, b, c, d = map(float, (text or "1,-1,0,0").split(","))
    found, retrieved, relevant = topic.found, topic.retrieved, topic.relevant
    rest = topic.asked.collection_size + found - retrieved - relevant
    value = a * found + b * (retrieved - found) + c * (relevant - found) + d * rest
    return [(joined(name, text), value)]


def relevance_string(topic: Topic, name: str, text: str | None) -> list[tuple[str, str]]:
    signs = {-1: "-", -2: "."}
    length = max(int(float(text or "10")), 0)
    shown = [signs.get(rel) or (">" if rel > 9 else str(rel)) for rel in topic.rels[:length]]
    return [(joined(name, text), "".join(shown))]


def binary_g(topic: Topic) -> float:
    total, so_far = 0.0, 0
    for rank, hit in enumerate(topic.hits, 1):
        if hit:
            total += 1 / log2(2 + rank - 1 - so_far)
            so_far += 1
    return share(total, topic.relevant)


def normalised_gain(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    gains, ideal = topic.gains(text)
    total = cost = so_far = 0.0
    for place, gain in enumerate(gains):
        so_far += gain
        cost += max(ideal[place] if place < len(ideal) else 0.0, 1.0)
        if gain:
            left = 2 + cost - so_far
            over = log2(left) if left > 0 else -inf if left == 0 else nan
            total += gain / over if over else copysign(inf, gain)
    return [(joined(name, text), share(total, sum(ideal)))]


def gained(value: Callable[[Sequence[float], Sequence[float]], float]) -> Callable[..., list]:
    return lambda topic, name, text: [(joined(name, text), value(*topic.gains(text)))]


def at_relevant(gains: Sequence[float], ideal: Sequence[float]) -> float:
    if not ideal:
        return 0.0
    total, found = 0.0, 0
    for rank, gain in enumerate(gains, 1):
        if gain > 0:
            total += discounted(gains, rank) / discounted(ideal, rank)
            found += 1
    total += (len(ideal) - found) * discounted(gains) / discounted(ideal)
    return total / len(ideal) if total > 0 else 0.0


def at_levels(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    gains, ideal = topic.gains(text)
    if topic.relevant == 0:
        return [(joined(name, text), 0.0)]
    at = [k for k in range(1, len(ideal)) if ideal[k] != ideal[k - 1]] + [len(ideal)] * bool(ideal)
    shares = [discounted(gains, k) / discounted(ideal, k) for k in at]
    if ideal and topic.retrieved > len(ideal) + 1:
        shares.append(discounted(gains) / discounted(ideal))
    return [(joined(name, text), sum(shares) / len(shares) if shares else nan)]


def gain_cut(topic: Topic, k: int) -> float:
    gains, ideal = topic.gains(None)
    return share(discounted(gains, k), discounted(ideal, k))


def set_f(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    x = float((text or "1").split(",")[0])
    value = 0.0
    if topic.found:
        p, r = topic.found / topic.retrieved, topic.found / topic.relevant
        gain, over = (x + 1) * p * r, x * p + r
        value = gain / over if over else copysign(inf, gain) if gain else nan
    return [(joined(name, text), value)]


def persistence(text: str | None) -> float:
    given = [pair[2:] for pair in (text or "").split(",") if pair.startswith("p=")]
    return float(given[-1]) if given else 0.9


def rank_biased(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    given = ",".join(pair for pair in (text or "").split(",") if pair and not pair.startswith("p="))
    gains, _ = topic.gains(given or None)
    table = {int(k): float(v) for k, v in (pair.split("=") for pair in given.split(",") if pair)}
    for grade in range(max(topic.judged, default=0) + 1):
        table.setdefault(grade, float(grade))
    low, high = min(table.values()), max(table.values())
    p = persistence(text)
    total, weight = 0.0, 1.0
    for rel, gain in zip(topic.rels, gains, strict=True):
        stretched = rel in table and (low < 0 or high > 1)
        total += ((gain - low) / (high - low) if stretched else gain) * weight
        weight *= p
    return [(joined(name, text), (1 - p) * total)]


def residual(topic: Topic, name: str, text: str | None) -> list[tuple[str, float]]:
    p = persistence(text)
    total, weight = 0.0, 1.0
    for rel in topic.rels:
        if rel < 0:
            total += weight
        weight *= p
    return [(joined(name, text), weight + (1 - p) * total if total else 0.0)]


def first(topic: Topic) -> float:
    return 1 / (topic.hits.index(True) + 1) if True in topic.hits else 0.0


def smoothed(topic: Topic) -> float:
    total = topic.average_precision()
    left = 1 + topic.relevant - total
    return log((1 + total) / left) if left > 0 else inf if left == 0 else nan


MEASURES: dict[str, Callable[[Topic, str, str | None], list[tuple[str, float | str]]]] = {
    "num_q": one(lambda t: 1.0),
    "num_ret": one(lambda t: float(t.retrieved)),
    "num_rel": one(lambda t: float(t.relevant)),
    "num_rel_ret": one(lambda t: float(t.found)),
    "map": one(lambda t: share(t.average_precision(), t.relevant)),
    "gm_map": one(lambda t: geometric(share(t.average_precision(), t.relevant))),
    "Rprec": one(lambda t: share(t.within(t.relevant), t.relevant)),
    "bpref": one(Topic.bpref),
    "recip_rank": one(first),
    "iprec_at_recall": interpolated,
    "P": at_ranks(lambda t, k: t.within(k) / k),
    "relstring": relevance_string,
    "recall": at_ranks(lambda t, k: share(t.within(k), t.relevant)),
    "infAP": one(inferred),
    "gm_bpref": one(lambda t: geometric(t.bpref())),
    "Rprec_mult": multiples,
    "utility": utility,
    "11pt_avg": eleven_points,
    "binG": one(binary_g),
    "G": normalised_gain,
    "dcg": gained(lambda gains, _: discounted(gains)),
    "ideal_dcg": gained(lambda _, ideal: discounted(ideal)),
    "ndcg": gained(lambda gains, ideal: share(discounted(gains), discounted(ideal))),
    "ndcg_rel": gained(at_relevant),
    "Rndcg": at_levels,
    "ndcg_cut": at_ranks(gain_cut),
    "map_cut": at_ranks(lambda t, k: share(t.average_precision(k), t.relevant)),
    "relative_P": at_ranks(lambda t, k: share(t.within(k), min(k, t.relevant))),
    "success": at_ranks(lambda t, k: 1.0 if t.within(k) else 0.0, (1, 5, 10)),
    "set_P": one(lambda t: share(t.found, t.retrieved)),
    "set_relative_P": one(lambda t: share(t.found, min(t.retrieved, t.relevant))),
    "set_recall": one(lambda t: share(t.found, t.relevant)),
    "set_map": one(lambda t: share(t.found * t.found, t.retrieved * t.relevant)),
    "set_F": set_f,
    "num_nonrel_judged_ret": one(lambda t: float(sum(rel >= 0 for rel in t.rels) - t.found)),
    "yaap": one(smoothed),
    "rbp": rank_biased,
    "rbp_resid": residual,
    "unj": at_ranks(lambda t, k: sum(rel < 0 for rel in t.rels[:k]) / k, (5, 10, 20)),
}
