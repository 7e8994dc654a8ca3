"""Hugging Face's MarianMT in a hand-written loop."""

from typing import Any

from benchmarks.speed.peers.child import serve, versions
from benchmarks.speed.peers.hand import BOS, EOS, PAD, HandLoop, Rectangles
from torch import Tensor, nn


class Peer(HandLoop):
    """MarianMTModel, post-norm, its attention chosen by the library."""

    def build(self, message: dict[str, Any]) -> nn.Module:
        """Make the model."""
        from transformers import MarianConfig, MarianMTModel

        sizes = message["model"]
        sides = {
            f"{side}_{name}": sizes[size]
            for side in ("encoder", "decoder")
            for name, size in (("layers", "layers"), ("ffn_dim", "feed_forward"), ("attention_heads", "heads"))
        }
        return MarianMTModel(
            MarianConfig(
                vocab_size=sizes["vocabulary"],
                d_model=sizes["width"],
                max_position_embeddings=512,
                dropout=sizes["dropout"],
                attention_dropout=0.0,
                activation_dropout=0.0,
                activation_function="relu",
                scale_embedding=True,
                pad_token_id=PAD,
                bos_token_id=BOS,
                eos_token_id=EOS,
                forced_eos_token_id=EOS,
                decoder_start_token_id=BOS,
                use_cache=False,
                **sides,
            )
        )

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Say also which version it is."""
        return super().load(message) | {"versions": versions("torch", "transformers")}

    def logits(self, batch: Rectangles) -> Tensor:
        """Return the logits of each target position."""
        return self.model(
            input_ids=batch.source, attention_mask=(batch.source != PAD).long(), decoder_input_ids=batch.inputs
        ).logits

    def search(self, source: Tensor, length: int, beam: int) -> list[list[int]]:
        """Let the library generate; the score of a hypothesis in its beam is divided by its length."""
        found = self.model.generate(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            num_beams=beam,
            do_sample=False,
            use_cache=True,
            max_new_tokens=length,
        )
        return found[:, 1:].tolist()


if __name__ == "__main__":
    serve(Peer())
