"""Hugging Face's MarianMT, translating with its own `generate`; its length is forced."""

import time
from typing import Any

import torch
from benchmarks.speed.peers.child import serve, versions

PAD, BOS, EOS = 0, 1, 2


class Peer:
    """MarianMTModel with random weights."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make the model."""
        from transformers import MarianConfig, MarianMTModel

        sizes = message["model"]
        sides = {
            f"{side}_{name}": sizes[size]
            for side in ("encoder", "decoder")
            for name, size in (("layers", "layers"), ("ffn_dim", "feed_forward"), ("attention_heads", "heads"))
        }
        special = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}
        settings = {"vocab_size": sizes["vocabulary"], "d_model": sizes["width"], "scale_embedding": True}
        self.model = MarianMTModel(
            MarianConfig(**settings, **special, **sides, activation_function="relu", forced_eos_token_id=None)
        ).eval()
        self.length = message["target"]
        return {"versions": versions("transformers")}

    def translate(self, message: dict[str, Any]) -> dict[str, Any]:
        """Translate batch by batch."""
        given, seconds = message["sentences"], []
        for first in range(0, len(given), message["batch"]):
            begin = time.perf_counter()
            rows = [[*ids, EOS] for ids in given[first : first + message["batch"]]]
            longest = max(map(len, rows))
            source = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
            length = {"min_new_tokens": self.length, "max_new_tokens": self.length}
            with torch.inference_mode():
                self.model.generate(
                    input_ids=source,
                    attention_mask=(source != PAD).long(),
                    num_beams=message["beam"],
                    do_sample=False,
                    **length,
                )
            seconds.append(time.perf_counter() - begin)
        return {"seconds": seconds}


if __name__ == "__main__":
    serve(Peer())
