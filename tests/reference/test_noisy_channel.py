"""The noisy channel (Yee et al. 2019) as plain loops: log p(y|x) / |y| + w1 log p(x|y) / |x| + w2 log p(y) / |y|."""

from pathlib import Path

import pytest
import torch
from tests.slow import some
from tests.tiny import Trained

from dragoman.inference.generator import TextGenerator
from dragoman.inference.translator import Translator
from dragoman.interfaces import Padded
from dragoman.runs.folder import open_run

SENTENCES = ["I love cats.", "This is a book.", "She will go to school tomorrow."]
REVERSE = ("data.source=vi", "data.target=en", "text.size=250")
LANGUAGE = ("data.source=vi", "data.target=vi", "text.size=250")
WEIGHTS = (0.7, 0.3)


def per_token(run: Path, source: str, target: str) -> float:
    """Return the log-probability per token, EOS included, of a target: token by token, each from the whole prefix before it."""
    opened = open_run(run)
    model, special = opened.load_model(torch.device("cpu")), opened.target.special
    ids = torch.tensor([[*opened.source.encode(source), special.eos]])
    encoded = model.encoder(Padded(ids, torch.ones_like(ids, dtype=torch.bool)))
    wanted, prefix, total = [*opened.target.encode(target), special.eos], [special.bos], 0.0
    with torch.no_grad():
        for token in wanted:
            output, _ = model.decoder(torch.tensor([prefix]), model.decoder.start(encoded))
            total += output.logits[0, -1].log_softmax(-1)[token].item()
            prefix.append(token)
    return total / len(wanted)


@pytest.mark.parametrize("kind", some(["rnn", "transformer"], ["transformer"]))
def test_the_beam_is_ranked_by_the_weighted_sum(kind: str, trained: Trained) -> None:
    forward, reverse, language = trained("rnn"), trained(kind, *REVERSE), trained("decoder_only", *LANGUAGE)
    translator = Translator.load(forward, beam=4)
    ranked = translator.translate(SENTENCES, rerank=[reverse, language], rerank_weights=WEIGHTS, n_best=4)
    changed = False
    for source, plain, best in zip(SENTENCES, translator.translate(SENTENCES, n_best=4), ranked, strict=True):
        beam = [plain, *plain.alternatives]
        scores = [
            one.log_prob / len(one.token_log_probs)
            + WEIGHTS[0] * per_token(reverse, one.text, source)
            + WEIGHTS[1] * per_token(language, "", one.text)
            for one in beam
        ]
        order = sorted(range(4), key=lambda at: -scores[at])
        found = [best, *best.alternatives]
        assert [one.text for one in found] == [beam[at].text for at in order]
        assert [one.score for one in found] == pytest.approx([scores[at] for at in order], abs=1e-4)
        assert [one.log_prob for one in found] == pytest.approx([beam[at].log_prob for at in order])
        changed = changed or order != [0, 1, 2, 3]
    assert changed


def test_a_language_model_scores_texts_of_any_length_alike(trained: Trained) -> None:
    language = trained("decoder_only", *LANGUAGE)
    texts = ["Tôi yêu mèo.", "", "Cô ấy sẽ đi học vào ngày mai."]
    found = [log_prob / tokens for log_prob, tokens in TextGenerator.load(language).score(texts)]
    assert found == pytest.approx([per_token(language, "", text) for text in texts], abs=1e-4)
