"""The language of a record, from its language field, its script or its function words."""

from __future__ import annotations

import re

_NAMES = {
    "english": "en", "american": "en", "british": "en", "usenglish": "en", "ukenglish": "en",
    "eng": "en", "german": "de", "ngerman": "de", "deutsch": "de", "deu": "de", "ger": "de",
    "french": "fr", "francais": "fr", "français": "fr", "fra": "fr", "fre": "fr",
    "spanish": "es", "español": "es", "spa": "es", "italian": "it", "italiano": "it",
    "ita": "it", "portuguese": "pt", "brazilian": "pt", "português": "pt", "por": "pt",
    "dutch": "nl", "nederlands": "nl", "nld": "nl", "dut": "nl", "russian": "ru", "rus": "ru",
    "chinese": "zh", "zho": "zh", "chi": "zh", "japanese": "ja", "jpn": "ja", "korean": "ko",
    "kor": "ko", "polish": "pl", "pol": "pl", "czech": "cs", "ces": "cs", "swedish": "sv",
    "swe": "sv", "danish": "da", "dan": "da", "norwegian": "no", "nor": "no", "finnish": "fi",
    "fin": "fi", "turkish": "tr", "tur": "tr", "arabic": "ar", "ara": "ar", "greek": "el",
    "ell": "el", "hungarian": "hu", "hun": "hu",
}  # fmt: skip

_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da "
    "de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy "
    "hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg "
    "li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or "
    "os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta "
    "te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
"""All codes of ISO 639-1."""

_SMALL_WORDS = {
    "en": "the of and to in is for that with this are on we by as an be from which it was were not",
    "de": "der die das und ist von mit den für eine ein auf wird werden nicht im zu des dem bei "
    "dass sich sind haben wurde auch wir einer",
    "fr": "le la les des et est dans une pour que sur nous par un du avec sont cette au de en ce "
    "qui ne pas ont aux",
    "es": "el la los las y en una para que por con un del se es este como al son de lo no "
    "más su ha",
    "it": "il la di e che per una con un del della sono nel gli le è dei alla si da non i in",
    "pt": "o a os as e em uma para que por com um do da se é no dos na são de ao não mais",
    "nl": "de het een en van in is dat op voor met zijn wordt deze die te aan ook bij door niet",
}
SMALL_WORDS = {code: frozenset(words.split()) for code, words in _SMALL_WORDS.items()}
"""The most frequent words of a language, by its code."""
_LANGUAGES_OF = {
    word: [code for code, words in SMALL_WORDS.items() if word in words]
    for word in frozenset().union(*SMALL_WORDS.values())
}
_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
)
_FEWEST = 3


def language_code(name: str) -> str:
    """Return ``en`` for ``english``, ``eng``, ``en-GB`` and ``EN``; unknown names in lower case."""
    lower = name.strip().lower()
    return _NAMES.get(lower, lower.partition("-")[0].partition("_")[0])


def language_name(code: str) -> str:
    """Return ``German`` for ``de``; unknown codes stay as they are."""
    return next((name.title() for name, known in _NAMES.items() if known == code), code)


def is_language(name: str) -> bool:
    """Return True for a code of ISO 639-1, or a language name that citebed knows."""
    return language_code(name) in _CODES.split()


def language_names() -> list[str]:
    """Return the language names that citebed knows."""
    return sorted({language_name(code).lower() for code in _NAMES.values()})


def language_of(stated: str | None, title: str | None, abstract: str | None) -> str | None:
    """Return the code of a record's language, or ``None`` if it is unclear.

    The language is the ``stated`` one, else the language of a non-Latin script with a third of the
    letters, else the one with the most function words: at least three, and 1.5 times as many as any
    other.
    """
    if stated:
        return language_code(stated)
    text = f"{title or ''} {abstract or ''}"
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        for code, script in _SCRIPTS:
            if len(script.findall(text)) * 3 > letters:
                return code
    counts = dict.fromkeys(SMALL_WORDS, 0)
    for word in text.lower().split():
        for code in _LANGUAGES_OF.get(word, ()):
            counts[code] += 1
    (most, code), (second, _) = sorted(((n, c) for c, n in counts.items()), reverse=True)[:2]
    return code if most >= _FEWEST and most * 2 >= second * 3 else None
