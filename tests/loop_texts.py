"""Text written for these tests: healthy thinking of several kinds, and loops."""

import random

PROSE = """\
The request asks for a parser that survives cut input, so first I want to know where \
a cut can fall. Between two bytes of one character, between the two characters of a \
line ending, and in the middle of a field name. The first is handled by an incremental \
decoder. The second needs one character of look-ahead.

For the third it is enough to keep the unfinished line. Its length has to be bounded, \
or a peer that never sends a line ending fills the memory. Sixty-four kilobytes is \
what \
other readers allow, and nobody has complained about that in the tracker.

Now the tests. A table of inputs with the events they should give, each of them run \
whole, then byte by byte, then under random cuts. If the three runs agree, the parser \
does not depend on how the network felt that day. I also want one test with a very \
large body, because quadratic behaviour hides in small ones.

What about the old interface? Two callers still pass a string instead of bytes. I \
could \
encode it for them, yet then a mistake stays hidden. Better to raise, and fix both \
callers in the same change; they are only a few lines each.

Let me also think about errors. A comment line is not an error, an unknown field is \
not \
an error either. A field without a colon is a field with an empty value. So there is \
nothing to raise at all, except for the bound on the line, which should name the limit.

So the plan is: decoder, line splitter, field reader, and a small table of tests. I \
will \
write the splitter first, since everything else rests on it.
"""

ARITHMETIC = "\n".join(
    f"{n} * {n + 3} = {n * (n + 3)}, which leaves {n * (n + 3) % 7} modulo 7."
    for n in range(2, 26)
)

CASES = "\n\n".join(
    f"Case {n}: A is a {a}, B is a {b}, C is a {c}. Then what A says about B is "
    f"{'true' if b == 'knight' else 'false'}, so A must be a "
    f"{'knight' if b == 'knight' else 'knave'}: "
    f"{'fine' if (a == 'knight') == (b == 'knight') else 'a contradiction'}."
    for n, (a, b, c) in enumerate(
        (
            (a, b, c)
            for a in ("knight", "knave")
            for b in ("knight", "knave")
            for c in ("knight", "knave")
        ),
        1,
    )
)

TABLE = "| input | events | rest |\n|-------|--------|------|\n" + "\n".join(
    f"| row {n} | {n % 4} | {n * 37 % 11} bytes |" for n in range(1, 31)
)

CODE = '''\
def split(data: bytes) -> tuple[list[bytes], bytes]:
    """Return the finished lines and the unfinished rest."""
    lines = []
    start = 0
    while (at := data.find(b"\\n", start)) >= 0:
        lines.append(data[start:at].removesuffix(b"\\r"))
        start = at + 1
    return lines, data[start:]


def test_split_keeps_the_rest():
    assert split(b"a\\nb") == ([b"a"], b"b")


def test_split_of_nothing():
    assert split(b"") == ([], b"")
'''

CHINESE = """\
先看题目的条件：两根绳子，每根烧完要一个小时，但燃烧的速度并不均匀。要量出四十五分钟。\
如果从两端同时点燃第一根，它会在三十分钟后烧完。与此同时点燃第二根的一端。

第一根烧完的时候，第二根还剩三十分钟。这时再点燃它的另一端，剩下的部分只需要十五分钟。\
三十加十五，正好是四十五。检查一下有没有用到速度均匀的假设：没有，因为两端同时烧时，\
总时间总是减半，不论哪一段快、哪一段慢。

所以答案是：先两头点第一根，同时一头点第二根；第一根烧完时，再点第二根的另一头。
"""

RUSSIAN = """\
Сначала проверю условие: две верёвки, каждая горит ровно час, но неравномерно. Нужно \
отмерить сорок пять минут. Если поджечь первую с двух концов, она сгорит за полчаса. \
Одновременно поджигаю вторую с одного конца.

Когда первая догорит, у второй останется тридцать минут. Тут я поджигаю её второй \
конец, и остаток сгорает за пятнадцать. В сумме получается сорок пять минут, и \
нигде не \
понадобилось, чтобы верёвка горела равномерно.
"""

HEALTHY = {
    "prose": PROSE,
    "arithmetic": ARITHMETIC,
    "cases": CASES,
    "table": TABLE,
    "code": CODE,
    "chinese": CHINESE,
    "russian": RUSSIAN,
    "rules": PROSE + "\n" + "-" * 120 + "\n" + PROSE[:400] + "\n" + "=" * 120,
    "all": "\n\n".join([PROSE, ARITHMETIC, CASES, TABLE, CODE, CHINESE, RUSSIAN]),
}

PARAGRAPH = (
    "Wait, let me check the second line again. The splitter keeps the rest, the reader "
    "asks for it, and the rest is empty, so the reader returns nothing at all.\n\n"
)

LOOPS = {
    "token": " the" * 900,
    "punctuation": "?!" * 900,
    "spaced punctuation": "! " * 1200,
    "digit": "9" * 3000,
    "white space": "\n" * 3000,
    "cjk": "哈" * 1200,
    "emoji": "😀" * 1200,
    "phrase": "not called " * 400,
    "sentence": "The value is not expected by the original function. " * 80,
    "paragraph": PARAGRAPH * 40,
    "two in turn": (PARAGRAPH + CHINESE) * 20,
    "page": CASES * 12,
    "counting": "".join(
        f"Step {n}: I started by thinking of a question.\n" for n in range(1, 160)
    ),
    "counting inline": "".join(f"Steril. {n}.\n" for n in range(1, 700)),
    "counting chinese": "".join(
        f"第{n}步：再检查一遍绳子烧完需要的时间。\n" for n in range(1, 160)
    ),
    "russian": "Вот нам, как и всем, нужно последнее слово. " * 80,
}


def novel(words, seed=1):
    """Return words that never stood before."""
    numbers = random.Random(seed)
    return "".join(
        "".join(numbers.choices("abcdefghijklmnopqrstuvwxyz", k=9)) + " "
        for _ in range(words)
    )
