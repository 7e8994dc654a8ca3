"""What is recorded is what the decoder computes."""

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES

from dragoman.data.collate import collate
from dragoman.inference.exploring.interventions import Interventions, Steering, source_lookups
from dragoman.inference.exploring.recording import GivenUpError, Recorder, ending_when
from dragoman.laws.examples import model_of


def test_a_walk_records_each_step_of_a_given_target() -> None:
    model = model_of(ARCHITECTURES["transformer pre-norm, sinusoidal"])
    batch = collate([([4, 5, 6], [7, 8])])
    lookups = source_lookups(model)
    recorder = Recorder(model.decoder, Steering(Interventions(temperature=2.0), lookups), lookups[1])
    with torch.inference_mode():
        whole = model(batch.source, batch.inputs, need_weights=True)
        logits = whole.logits[0]
        recorder.walk(batch.inputs[:, 0], [7, 8, 2], model.decoder.start(model.encoder(batch.source)))
    found = torch.cat([one.log_probs for one in recorder.steps])
    torch.testing.assert_close(found, (logits / 2).log_softmax(-1), rtol=1e-4, atol=1e-5)
    assert whole.attention is not None and len(recorder.looks) == 3
    for step, one in enumerate(recorder.looks):
        torch.testing.assert_close(one.used[0, :, 0], whole.attention[0, 1, :, step], rtol=1e-4, atol=1e-5)


def test_a_search_that_nobody_waits_for_ends_at_its_next_step() -> None:
    model = model_of(ARCHITECTURES["transformer pre-norm, sinusoidal"])
    batch = collate([([4, 5, 6], [7, 8])])
    recorder = Recorder(model.decoder, Steering(Interventions(), source_lookups(model)))
    with torch.inference_mode(), pytest.raises(GivenUpError), ending_when(lambda: len(recorder.steps) == 2):
        recorder.walk(batch.inputs[:, 0], [7, 8, 2], model.decoder.start(model.encoder(batch.source)))
    assert len(recorder.steps) == 2
    with torch.inference_mode():
        recorder.walk(batch.inputs[:, 0], [7], model.decoder.start(model.encoder(batch.source)))
    assert len(recorder.steps) == 3
