"""The links of assessors, and how what they judge is shown: what a campaign keeps for its page."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import asdict

from calipers.campaign.judging import Settings
from calipers.campaign.store import Campaign

_PLAIN = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,40}")

#: Under this key of the table ``about`` is how documents are shown.
_SETTINGS = "judging"

#: So many links of an assessor are good at a time; the oldest goes first.
_LINKS = 20


def settings_of(campaign: Campaign) -> Settings:
    """How documents are shown in a campaign; as usual where nobody said."""
    found = campaign.read("SELECT value FROM about WHERE key = ?", (_SETTINGS,))
    return Settings(**json.loads(found[0][0])) if found else Settings()


def keep_settings(campaign: Campaign, settings: Settings) -> None:
    """Show documents so from now on."""
    if settings == settings_of(campaign):
        return
    with campaign.write() as connection:
        connection.execute(
            "INSERT INTO about VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (_SETTINGS, json.dumps(asdict(settings))),
        )


def new_token(campaign: Campaign, assessor: str, *, alone: bool = False) -> str:
    """A token of 256 random bits for an assessor's link, of which only the digest is kept.

    Links that were made before go on working unless this is to be the only one (``alone``).
    """
    token = secrets.token_urlsafe(32)
    with campaign.write() as connection:
        (before,) = connection.execute(
            "SELECT token_hash FROM assessors WHERE assessor = ?", (assessor,)
        ).fetchone()
        kept = [] if alone else (before or "").split()[1 - _LINKS :]
        connection.execute(
            "UPDATE assessors SET token_hash = ? WHERE assessor = ?",
            (" ".join([*kept, digest_of(token)]), assessor),
        )
    return token


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def short(*parts: object) -> str:
    """What stands for something, and tells nothing of it."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def slug_of(assessor: str) -> str:
    """What stands for an assessor in addresses."""
    return assessor if _PLAIN.fullmatch(assessor) else short("assessor", assessor)
