"""Text in which tokenizers of different libraries differ first."""

ODD = [
    "",
    " ",
    "\t \n",
    "I love cats.",
    "  two  spaces   and\ttabs\r\nand lines ",
    "no-break\u00a0space, thin\u2009space, ideographic\u3000space, line\u2028separator\u0085next line\x1cfile\x1fend",
    "Cafe\u0301 and Café: NFD and NFC; Tiê\u0301ng Viê\u0323t",
    "\u1100\u1161\u11a8 \uac01",
    "zero\u200bwidth, joi\u2060ner, \ufeffmark, soft\u00adhyphen, zwj\u200dand zwnj\u200c",
    "control\x00\x07\x1b\x7f\x9f characters",
    "emoji 👩‍👩‍👧 🇻🇳 👍🏽 x",
    "</s> and <s>, <pad>, <unk>; <to fr> <to>; a</s>b < > <<s>> </s></s>",
    "▁ meta ▁▁x ▅ ￭ signs￭▅▁",
    "Κείμενο Щось 漢字かな العربية हिन्दी ไทย \U00020000",
    "aaaa aaaaaaaa .... !!!!!!!!! -------- ?!?!?!",
    "ΟΔΟΣ ΣΑΣ Σ ΑΣ. ΑΣ'Α ΑΣ΄ ΣΣ ΟΣ\u0301",
    "İstanbul ǅ ẞ Ⅷ ﬁ Å K",
    'don\'t (yet) "quoted" — dash… 1,234.5 %&*#@~`|\\/',
]
