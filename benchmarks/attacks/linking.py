"""Answers as they are beside anonymized ones: a sensitive value that both show tells which record is which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

from benchmarks.attacks import Found
from benchmarks.attacks.victims import Memory, ask, open_gateway, people, promise

_RAW = 'SELECT race, sex, "hours-per-week" FROM people'
_RELEASE = 'SELECT age, education, "hours-per-week", occupation FROM people'


def run(draw: Random) -> Iterator[Found]:
    """Yield the published records of which the exact race and sex follow, whichever is asked for first."""
    table = people()
    for recoding in ("one", "each"):
        said = {"people": {"policy": promise(raw={"least": 1}), "recoding": recoding}}
        for texts in ((_RAW, _RELEASE), (_RELEASE, _RAW)):
            with open_gateway(Memory(people=table), said) as gateway:
                answers = {text: ask(gateway, "c0", text) for text in texts}
            raw, release = answers[_RAW], answers[_RELEASE]
            found = 0
            if raw is not None and release is not None and raw.decisions[0].action == "release":
                rare = {hours for hours, count in Counter(raw.table["hours-per-week"]).items() if count == 1}
                found = sum(hours in rare for hours in release.table["hours-per-week"])
            first = "as it is" if texts[0] == _RAW else "anonymized"
            yield Found(f"linked by hours, {first} first (recoding: {recoding})", found, table.height)
