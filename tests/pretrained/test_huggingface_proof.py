"""The proof of an export tells mistakes from ties. That it finds mistakes is tested with the export itself."""

import torch
from tests.tiny import Trained

from dragoman.data.collate import collate
from dragoman.data.corpus import Pair
from dragoman.pretrained import huggingface_proof
from dragoman.runs.folder import open_run

PAIR = Pair("I love cats.", "Tôi yêu mèo.", "here")


def test_only_ties_may_be_broken_otherwise(trained: Trained) -> None:
    run = open_run(trained("transformer"))
    model = run.load_model(torch.device("cpu"))
    batch = collate([(run.source.encode(PAIR.source), [])])
    order = model(batch.source, batch.inputs).logits[0, 0].argsort(descending=True).tolist()
    with torch.no_grad():
        model.decoder.embedding.weight[order[1]] = model.decoder.embedding.weight[order[0]]  # type: ignore[union-attr,operator,index]
    tied = huggingface_proof._tied
    assert tied(run, model, PAIR, own=[order[0]], other=[order[1]])
    assert not tied(run, model, PAIR, own=[order[0]], other=[order[-1]])


def test_equally_probable_tokens_are_accepted_from_a_unigram_model_alone(trained: Trained) -> None:
    unigram = open_run(trained("transformer", "text.algorithm=unigram", "text.size=250")).source
    bpe = open_run(trained("transformer")).source
    equal = huggingface_proof._equally_probable
    ids = unigram.encode("I love cats.")
    assert equal(unigram, ids, ids) and not equal(unigram, ids[1:], ids)
    assert not equal(bpe, bpe.encode("No."), bpe.encode("No."))
