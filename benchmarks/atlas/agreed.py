"""What the process that plans trainings and those that train agree on; imports nothing heavy."""

from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

METHOD = 1
"""Raised when anything here changes what is measured, so that trained models are measured again."""

SHOWN = (
    ("That is their old coat.", "Đó là chiếc áo khoác cũ của họ."),
    ("These poets will learn French tomorrow.", "Ngày mai những nhà thơ này sẽ học tiếng Pháp."),
    ("My question is more difficult than her question.", "Câu hỏi của tôi khó hơn câu hỏi của cô ấy."),
)
"""Sentences of the phrasebook's test split, for the pictures: order reversed, a word moved far, a word that occurs twice."""
