"""Write ``lucene_terms.json`` again: the texts below with Lucene's words and terms.

    python tests/parity/remake_lucene_terms.py lucene-core.jar:lucene-analysis-common.jar

It needs Java 11 or later and Lucene 9, as its own two jars or as one jar that contains them, such
as Anserini's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TEXTS = [
    "The quick brown foxes were jumping over the lazy dogs' beds.",
    "It's the dog's bone, O'Reilly's book, the authors' view, rock 'n' roll, y'all'd've",
    "It’s the dog’s bone, O’Neill’s, ‘quoted’ words, full＇s and full＇width",
    "'leading and trailing' apostrophes ''twice'' a'b'c 's ’s",
    "state-of-the-art e-mail, A–B testing, 10-fold, TF-IDF",
    "pi is 3.14159, 1,000,000.50 or 1.000.000,50; 3.a a.3 .5 5. 1..2 1,a 12:30 1;2 1'000",
    "www.example.org/path?q=a.b&x=1 see https://example.org:8080/~user/index.html",
    "write to jane.doe@example.org or x_y+z@a-b.co.uk",
    "U.S.A. Ph.D. i.e. e.g. a.b..c a:b c::d e:1",
    "snake_case __init__ _ ___ a_ _b 1_000 a_'b x_.y _1.5_",
    "naïve café résumé Ångström Øre Þing Œuvre",
    "cafe\u0301 re\u0301sume\u0301 a\u0301.b\u0301 1\u0301.5 \u0301alone x \u0301y",
    "ﬁnding oﬃces ﬂow ĳ ŉ",
    "İstanbul IĞDIR ışık DIŞ",
    "Straße STRASSE ẞ groß große",
    "ΟΔΥΣΣΕΥΣ ὈΔΥΣΣΕΎΣ ΣΑΣ. σας Σ",
    "信息检索 is 情報検索 and 資訊檢索",
    "ひらがな と カタカナ ガ ｶﾀｶﾅ カタカナabc データ_ベース ー",
    "정보 검색은 어렵다 a한국어b 한국1",
    "การค้นคืนสารสนเทศ ภาษาไทยabc ไทย1",
    "ລາວ ខ្មែរ မြန်မာ",
    "информационный поиск ЁЛКА",
    "استرجاع المعلومات في ٣٫١٤ و١٬٠٠٠ نامه\u200cای",
    'אחזור מידע צה"ל ג\'ורג\' א"ב"ג ש"\u05b8ס',
    "हिन्दी में खोज १२.५",
    "smile 😀 👍🏽 👩\u200d👩\u200d👧 🇩🇪🇫🇷 🇩 1️⃣ #️⃣ *⃣ ❤️\u200d🔥 ☺ ☺\ufe0e © ™ ®",
    "a😀b 1😀2 😀😀 🏴\U000e0067\U000e0062\U000e007f ℹ️ Ⓜ ⓜ 🅰b ℹ\u200d👩 aℹ",
    "in\u00adfor\u00admation soft\u00ad zero\u200bwidth zero\u200cwidth",
    "\u200djoin\u200djoin\u2060er \ufeffbom",
    "left\u200eright\u200fmarks \u202aembedded\u202c text",
    "non\u00a0breaking\u202fspaces and\u2028lines\u0085ends\u3000wide",
    "ＦＵＬＬ　ＷＩＤＴＨ １２３．４５ ａ＿ｂ",
    "x² H₂O 10⁶ ½ Ⅳ ⅷ №5 ª º µm Ωm K Å",
    "𝑥𝑦 𝑘s 𝐱ed 𝟏𝟐.𝟓 𐐀𐐁 𠀀𠀁",
    "a·b l·l col·lapse 1·2 a‧b a∶b",
    "C++ C# .NET F# AT&T R&D $100 50% #tag @user ~tilde ^caret",
    '<b>bold</b> {x} [1] (2) "quoted" `code` \\alpha \\cite{key}',
    "tab\there\nnew line",
    "technology technologies technological possibly assembly assemblies revving doxxing",
    "as is us 1990s PhDs as's s x's yes this thesis thus",
    "relational conditional rationalize hopefulness formalization sensibilities generalizations",
    "agreed feed sky flying dying hissing fizzed falling filing controlling roll",
    "a" * 255 + " " + "b" * 256 + " " + "c" * 300 + "ing",
    "d" * 254 + ".e " + "f" * 250 + "_" * 10 + "g " + "1" * 254 + ",5",
    "_" * 300 + "h " + "i" + "\u0301" * 300 + "j",
    "𝑎" * 130 + " " + "é" * 260,
    "",
    "the of and",
    "lone \ud800 surrogate and \udc00 another",
]


def ask_lucene(jars: str) -> tuple[str, list[str]]:
    """Lucene's version, and its answer for each text."""
    lines = "".join(json.dumps(text)[1:-1] + "\n" for text in TEXTS)
    command = ["java", "-cp", jars, str(HERE / "LuceneTerms.java")]
    answer = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    version, *found = answer.stdout.split("\n")[:-1]
    return version, found


def read_words(words: str) -> list[str]:
    return [json.loads(f'"{word}"') for word in words.replace('"', '\\"').split(" ") if word]


def main(jars: str) -> None:
    version, answers = ask_lucene(jars)
    cases = []
    for text, answer in zip(TEXTS, answers, strict=True):
        words, _, terms = answer.partition("\t")
        cases.append({"text": text, "words": read_words(words), "terms": read_words(terms)})
    written = json.dumps({"lucene": version, "cases": cases}, indent=1) + "\n"
    (HERE / "lucene_terms.json").write_text(written, "ascii")


if __name__ == "__main__":
    main(sys.argv[1])
