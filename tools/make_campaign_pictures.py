"""Draw the pictures of the small collection that ``calipers campaign demo`` sets up.

    python tools/make_campaign_pictures.py [--out FOLDER]

Each is a poster or a sketch that a person judges by looking at it. Fonts differ between machines,
and so do the last pixels.
"""

from __future__ import annotations

import argparse
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import vl_convert as vlc

FOLDER = Path(__file__).parents[1] / "src" / "calipers" / "data" / "demo" / "campaign" / "pictures"
WIDTH, HEIGHT = 480, 360
INK = 'stroke="black" fill="none" stroke-width="2"'


def text(x: float, y: float, words: str, size: int = 18, anchor: str = "middle") -> str:
    """A line of text."""
    return (
        f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="{size}" '
        f'text-anchor="{anchor}">{words}</text>'
    )


def box(x: float, y: float, width: float, height: float, style: str = INK) -> str:
    """A rectangle."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" {style}/>'


def path(steps: str, style: str = INK) -> str:
    """A line."""
    return f'<path d="{steps}" {style}/>'


def circle(x: float, y: float, radius: float, style: str = INK) -> str:
    """A circle."""
    return f'<circle cx="{x}" cy="{y}" r="{radius}" {style}/>'


def nest_box() -> Iterable[str]:
    """A box for swifts, from the front, with its measures."""
    yield text(240, 36, "Nest box for swifts", 24)
    yield box(90, 80, 260, 150)
    yield '<ellipse cx="160" cy="208" rx="34" ry="14" fill="black"/>'
    yield text(220, 120, "old floorboard,")
    yield text(220, 144, "20 mm, not painted")
    yield path("M90 256 H350 M90 248 V264 M350 248 V264")
    yield text(220, 282, "400 mm")
    yield path("M374 80 V230 M366 80 H382 M366 230 H382")
    yield text(420, 160, "180 mm")
    yield text(240, 316, "Hole at the bottom edge: 65 x 28 mm, no more,", 17)
    yield text(240, 340, "or starlings move in. A dish for the eggs inside.", 17)


def slug_trap() -> Iterable[str]:
    """A pot of beer in the ground."""
    yield text(240, 40, "Slugs? Give them beer!", 28)
    yield path("M20 180 H150 V166 L164 290 H276 L290 166 V180 H460")
    yield path("M157 226 H283", 'stroke="black" stroke-width="2" stroke-dasharray="6 4"')
    yield text(220, 262, "beer")
    yield path("M340 176 q20 -26 52 -10 q24 10 36 10 z", 'fill="black"')
    yield path("M346 168 l-10 -18 M356 164 l-4 -20")
    yield text(378, 140, "83 in a week", 16)
    yield text(70, 150, "a finger above", 16)
    yield text(70, 170, "the ground", 16)
    yield text(240, 330, "Empty every other day. No poison in this garden.")


def compost_chart() -> Iterable[str]:
    """How warm a heap becomes, day by day."""
    days = [(0, 14), (1, 20), (2, 41), (3, 63), (5, 60), (8, 54), (10, 50), (13, 40)]
    again = [(13, 40), (14, 48), (16, 57), (19, 50), (22, 42), (25, 34)]

    def line(points: list[tuple[int, int]]) -> str:
        places = [f"{70 + 15 * day} {310 - 3.6 * degrees}" for day, degrees in points]
        return path("M" + " L".join(places), INK.replace('"2"', '"4"'))

    yield text(250, 32, "Compost: is the heap warm?", 24)
    yield path("M70 60 V310 H460")
    for degrees in (20, 40, 60):
        yield text(60, 316 - 3.6 * degrees, f"{degrees}", 16, "end")
    for day in (0, 5, 10, 15, 20, 25):
        yield text(70 + 15 * day, 330, f"{day}", 16)
    yield line(days)
    yield line(again)
    yield text(265, 352, "days; degrees Celsius", 16)
    yield path("M265 220 V180 M258 192 L265 180 L272 192")
    yield text(265, 240, "turned", 16)


def hook() -> Iterable[str]:
    """The point of the hook beside the needle."""
    yield text(240, 36, "Missed stitches? Look here", 24)
    yield path("M150 60 V210 L158 240 L166 210 V60")
    yield '<ellipse cx="158" cy="196" rx="4" ry="10" fill="black"/>'
    yield path("M158 196 q46 -30 10 -60", 'stroke="black" fill="none" stroke-dasharray="5 3"')
    yield path("M166 168 q10 8 0 18")
    yield circle(300, 220, 90)
    yield path("M212 200 L172 176 L222 170 z", 'fill="black"')
    yield text(300, 226, "hook")
    yield text(76, 130, "needle")
    yield text(240, 340, "The point passes 2 mm above the eye, in the scarf.", 17)


def cupboard() -> Iterable[str]:
    """What may be borrowed."""
    yield text(240, 44, "BORROW ME", 34)
    for row, names in enumerate([("drill", "tent", "projector"), ("cake tin", "ladder", "game")]):
        for column, name in enumerate(names):
            yield box(60 + 125 * column, 70 + 105 * row, 110, 90)
            yield text(115 + 125 * column, 122 + 105 * row, name, 20)
    yield text(240, 308, "a week at a time, with your library card")
    yield text(240, 338, "The carpet cleaner has a waiting list.", 16)


def taps() -> Iterable[str]:
    """Where there is water in the garden."""
    yield text(240, 34, "Where the water is", 24)
    yield box(40, 50, 400, 250)
    yield box(60, 70, 90, 60)
    yield text(105, 105, "shed", 16)
    yield circle(180, 100, 18)
    yield text(208, 106, "tank, 1000 litres", 16, "start")
    yield box(330, 220, 90, 60)
    yield text(375, 255, "hut", 16)
    yield circle(310, 250, 6, 'fill="black"')
    yield text(298, 256, "tap (off in the ban)", 16, "end")
    yield path("M60 165 H420 M60 180 H420 M60 195 H420")
    yield text(240, 158, "beans: drip hose", 16)
    yield circle(80, 250, 14)
    yield text(80, 284, "butt", 16)
    yield text(240, 330, "Take from the tank first. A can a plant, twice a week.", 17)


#: The document, its caption and what is drawn.
PICTURES = {
    "n245": nest_box, "n246": slug_trap, "n247": compost_chart,
    "n248": hook, "n249": cupboard, "n250": taps,
}  # fmt: skip


def unfiltered(image: bytes) -> list[bytearray]:
    """The rows of an RGBA image that is a PNG: RFC 2083, section 6, turned round."""
    at, packed, shape = 8, b"", (0, 0)
    while at < len(image):
        length, kind = struct.unpack_from(">I4s", image, at)
        chunk = image[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            shape = struct.unpack_from(">II", chunk)
        packed += chunk * (kind == b"IDAT")
        at += length + 12
    raw, stride = zlib.decompress(packed), 4 * shape[0]
    rows, above = [], bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        row = bytearray(raw[start + 1 : start + 1 + stride])
        for i in range(stride):
            left, up = (row[i - 4], above[i]) if i >= 4 else (0, above[i])
            corner = above[i - 4] if i >= 4 else 0
            near = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            row[i] = (row[i] + (0, left, up, (left + up) // 2, near)[raw[start]]) % 256
        rows.append(row)
        above = row
    return rows


def small(image: bytes) -> bytes:
    """A PNG in sixteen greys, which is a tenth of the size."""
    rows = unfiltered(image)
    packed = bytearray()
    for row in rows:
        grey = [value >> 4 for value in row[::4]]
        packed += bytes([0, *(16 * a + b for a, b in zip(grey[::2], grey[1::2], strict=True))])
    made = b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 4, 0, 0, 0, 0)
    for kind, chunk in (b"IHDR", head), (b"IDAT", zlib.compress(packed, 9)), (b"IEND", b""):
        made += struct.pack(">I", len(chunk)) + kind + chunk
        made += struct.pack(">I", zlib.crc32(kind + chunk))
    return made


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the example.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    out: Path = parser.parse_args().out
    out.mkdir(exist_ok=True)
    for document, drawing in PICTURES.items():
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(drawing())}</svg>'
        )
        (out / f"{document}.png").write_bytes(small(vlc.svg_to_png(svg)))


if __name__ == "__main__":
    main()
