"""Make a run and its judgments of the size of a passage ranking task.

    python benchmarks/make_run.py FOLDER

writes ``run.txt`` and ``qrels.txt``. The defaults give 7 million lines of about 36 bytes, and, as
is usual where one passage answers a question, hardly more judgments than topics.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

Passages = npt.NDArray[np.int32]

PASSAGES = 8_841_823
JUDGMENTS_PER_TOPIC = 7_417 / 6_980
SHARE_FOUND = 0.87  # of the judged passages stand in the run


def write_run(
    path: Path, topics: list[int], depth: int, rng: np.random.Generator
) -> list[Passages]:
    """Write a run of ``depth`` passages a topic; returns the passages of every topic."""
    ranking = []
    with path.open("w", encoding="ascii") as file:
        for topic in topics:
            passages = rng.choice(PASSAGES, size=depth, replace=False, shuffle=True)
            scores = np.sort(rng.gamma(20.0, 0.9, size=depth))[::-1].tolist()
            file.writelines(
                f"{topic} Q0 {passage} {rank} {score:.6f} made\n"
                for rank, (passage, score) in enumerate(
                    zip(passages.tolist(), scores, strict=True), start=1
                )
            )
            ranking.append(passages.astype(np.int32))
    return ranking


def write_qrels(
    path: Path, topics: list[int], ranking: list[Passages], rng: np.random.Generator
) -> None:
    """Write one judgment a topic, and one more for some of them."""
    more = set(
        rng.choice(
            len(topics), size=round(len(topics) * (JUDGMENTS_PER_TOPIC - 1)), replace=False
        ).tolist()
    )
    with path.open("w", encoding="ascii") as file:
        for place, (topic, passages) in enumerate(zip(topics, ranking, strict=True)):
            judged: set[int] = set()
            while len(judged) < 1 + (place in more):
                found = rng.random() < SHARE_FOUND
                judged.add(int(rng.choice(passages) if found else rng.integers(PASSAGES)))
            file.writelines(f"{topic} 0 {passage} 1\n" for passage in sorted(judged))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where run.txt and qrels.txt are written")
    parser.add_argument("--topics", type=int, default=6_980, help="number of topics")
    parser.add_argument("--depth", type=int, default=1_000, help="documents per topic")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    rng = np.random.default_rng(arguments.seed)
    topics = rng.choice(1_100_000, size=arguments.topics, replace=False).tolist()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    ranking = write_run(arguments.folder / "run.txt", topics, arguments.depth, rng)
    write_qrels(arguments.folder / "qrels.txt", topics, ranking, rng)


if __name__ == "__main__":
    main()
