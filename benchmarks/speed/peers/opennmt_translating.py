"""OpenNMT-py translating with random weights and its own Translator; the length is forced."""

from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.family import Alone
from benchmarks.speed.peers.opennmt import Peer as Own


class Peer(Alone, Own):
    """The model and the translator."""


if __name__ == "__main__":
    serve(Peer())
