"""Special ids belong to the vocabulary, wherever it has them."""

from dragoman import interfaces
from dragoman.data.collate import collate, pad
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.text import vocabulary
from dragoman.text.codec import Codec
from dragoman.text.vocabulary import SPECIAL, Vocabulary
from dragoman.text.words import Words

NLLB = SpecialIds(pad=1, bos=0, eos=2, unk=3, mask=0)
"""As the vocabularies of NLLB have them."""


def test_there_is_one_declaration() -> None:
    for module in (interfaces, vocabulary):
        assert SPECIAL_IDS.all == (module.PAD, module.BOS, module.EOS, module.UNK)
    names = list(Vocabulary([]))
    assert [names[one] for one in (SPECIAL_IDS.pad, SPECIAL_IDS.bos, SPECIAL_IDS.eos, SPECIAL_IDS.unk)] == list(SPECIAL)


def test_a_codec_reads_the_ids_of_its_vocabulary() -> None:
    codec = Codec(Words(Vocabulary(["<s>", "<pad>", "</s>", "<unk>", "cat", "dog"], NLLB)))
    assert codec.special == NLLB
    assert codec.encode("cat bird dog") == [4, 3, 5]
    assert codec.decode([0, 5, 1, 4, 2, 5]) == "dog cat"
    assert codec.piece_words([0, 5, 4, 2]) == [-1, 0, 1, -1]


def test_padding_puts_the_ids_of_the_vocabulary_around_a_sentence() -> None:
    batch = collate([([7, 8], [9]), ([7], [9, 9])], special=NLLB)
    assert batch.source.ids.tolist() == [[7, 8, 2], [7, 2, 1]]
    assert batch.target.ids.tolist() == [[0, 9, 2, 1], [0, 9, 9, 2]]
    padded = pad([[7]], [[None]], NLLB)
    assert padded.previous is not None and padded.previous.ids.tolist() == [[[1]]]


def test_a_model_may_begin_with_the_end() -> None:
    """As M2M100 and NLLB do: a search must be able to end."""
    special = SpecialIds(pad=1, bos=2, eos=2, unk=3, tags=(9,))
    assert special.unwritten == (1, 9)
    assert SpecialIds(pad=5, bos=5, eos=0, unk=1).unwritten == (5,)  # Marian
    assert collate([([7], [8])], special=special).target.ids.tolist() == [[2, 8, 2]]


def test_a_language_after_a_source_comes_after_its_end() -> None:
    special = SpecialIds(pad=1, bos=2, eos=2, unk=3, tags=(9,))
    padded = pad([[7, 8, 2, 9], [9, 7]], special=special)
    assert padded.ids.tolist() == [[7, 8, 2, 9], [9, 7, 2, 1]]
    assert padded.mask.tolist() == [[True] * 4, [True, True, True, False]]
