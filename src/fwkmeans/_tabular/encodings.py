"""What a text that is not in UTF-8 may be written in."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from fwkmeans._support.text import shortened

#: Characters beyond ASCII that are looked at.
_MOST = 2000
#: Share of them that must be as people write, for an encoding to be taken, or to be asked about.
_SURE, _POSSIBLE = 0.97, 0.8
#: How many times as many of the characters of another encoding may be wrong, for one to be sure.
_CLEARLY = 0.15

_HAN = re.compile(r"[\u4e00-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_CYRILLIC = re.compile(r"[А-Яа-яЁё]")
_LATIN = re.compile(r"[À-ÖØ-öø-ÿŒœŠšŽžŸ]")
_MARKS = re.compile(r"[°²³µ·½¼¾«»„“”‘’‚–—…€£¥§©®№×ªº¿¡´、。・（），：；？！《》「」]")
#: Encodings by how likely they are.
NAMES = ("cp1252", "cp1251", "gb18030", "shift_jis", "euc-kr", "big5")


def odd_lines(pieces: Iterable[bytes]) -> bytes:
    """Return the first lines of a text that hold more than ASCII."""
    lines: list[bytes] = []
    for at, piece in enumerate(pieces):
        first = 0 if at == 0 else piece.find(b"\n") + 1  # lines that are cut hold half characters
        last = piece.rfind(b"\n") + 1 or len(piece)
        found = _ODD_LINE.finditer(piece, first, last)
        lines += [match.group() for match in islice(found, _MOST - len(lines))]
        if len(lines) >= _MOST:
            break
    return b"\n".join(lines)


_ODD_LINE = re.compile(rb"[^\r\n]*[\x80-\xff][^\r\n]*")


class Reading(NamedTuple):
    """A text in an encoding: how well it reads, and some of it."""

    encoding: str
    quality: float
    sample: str


def encoding_of_mark(start: bytes) -> str | None:
    """Return the encoding that the first bytes of a text name by a mark; None if there is none."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return None


def readings(data: bytes) -> list[Reading]:
    """Return what a text may be in, best first: those in which it reads as people write.

    Examples
    --------
    >>> [one.encoding for one in readings("Москва, Казань".encode("cp1251"))][:1]
    ['cp1251']
    >>> [one.encoding for one in readings("Größe: 5 µm, Köln".encode("cp1252"))][:1]
    ['cp1252']
    """
    found = [_reading(data, name) for name in NAMES]
    likely = [one for one in found if one is not None and one.quality >= _POSSIBLE]
    return sorted(likely, key=lambda one: -one.quality)


def is_sure(found: list[Reading]) -> bool:
    """Tell whether the best reading is good, and all others are much worse.

    Signs such as that of degrees alone are in most encodings, and then taken as Western.
    """
    if not found or found[0].quality < _SURE:
        return False
    if len(found) < 2 or found[0].encoding == NAMES[0]:
        return True
    wrong, next_wrong = (1.0 - one.quality for one in found[:2])
    return next_wrong > 0 and wrong <= _CLEARLY * next_wrong


def language_of(encoding: str) -> str:
    """Return what is written in an encoding, in words."""
    return _WRITTEN[encoding]


_WRITTEN = {
    "cp1252": "that of Windows in western Europe",
    "cp1251": "Cyrillic text of Windows",
    "gb18030": "Chinese text",
    "shift_jis": "Japanese text",
    "euc-kr": "Korean text",
    "big5": "traditional Chinese text",
}


def said_of(found: list[Reading]) -> str:
    """Return how a text reads in each encoding, for a question."""
    if not found:
        return ""
    ways = "; ".join(f"as {one.encoding} {one.sample!r}" for one in found[:3])
    return f" It would read {ways}. If one of these is right, give that encoding."


def _reading(data: bytes, encoding: str) -> Reading | None:
    try:
        # the last character may be cut
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=False)
    except UnicodeDecodeError:
        return None
    odd = list(islice(re.finditer(r"[^\x00-\x7f]+", text), _MOST))
    if not odd:
        return None
    runs = [match.group() for match in odd]
    right = sum(_right(encoding, text, match.start(), match.end()) for match in odd)
    first = text[max(0, odd[0].start() - 10) : odd[0].end() + 10]
    return Reading(encoding, right / sum(map(len, runs)), shortened(first, 30))


def _right(encoding: str, text: str, begin: int, end: int) -> float:
    """Return how many characters of a run beyond ASCII are as people write in an encoding."""
    run = text[begin:end]
    marks = len(_MARKS.findall(run))
    if encoding == "cp1252":  # letters with accents stand among others, one or two at a time
        letters = len(_LATIN.findall(run))
        return marks + (letters if len(run) < 4 and not _shouts_within(text, begin, end) else 0)
    if encoding == "cp1251":  # words are Cyrillic as a whole, and capitals come first
        before, after = text[begin - 1 : begin], text[end : end + 1]
        is_apart = not ((before + after).isalpha() and (before + after).isascii())
        is_word = run.isupper() or run[1:] == run[1:].lower()
        return marks + (len(_CYRILLIC.findall(run)) if is_apart and is_word else 0)
    if encoding == "shift_jis":
        kana = len(_KANA.findall(run))
        return marks + kana + (len(_HAN.findall(run)) if kana or _KANA.search(text) else 0)
    if encoding == "euc-kr":
        return marks + len(_HANGUL.findall(run))
    if encoding == "big5":  # the frequent characters come first in the code
        return marks + sum(_is_within(one, encoding, 0xA440, 0xC67E) for one in run)
    return marks + sum(_is_within(one, "gb2312", 0xB0A1, 0xD7F9) for one in run)


def _shouts_within(text: str, begin: int, end: int) -> bool:
    """Tell whether a capital with an accent follows a small letter, as in no language."""
    before = text[begin - 1 : begin]
    return before.islower() and unicodedata.category(text[begin]) == "Lu" and end - begin < 4


def _is_within(character: str, encoding: str, first: int, last: int) -> bool:
    """Tell whether a character is among the frequent ones of an encoding."""
    try:
        code = character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return len(code) == 2 and first <= int.from_bytes(code, "big") <= last
