"""eole translating with random weights and its own Translator; the length is forced."""

from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.eole import Peer as Own
from benchmarks.speed.peers.family import Alone


class Peer(Alone, Own):
    """The model and the translator."""


if __name__ == "__main__":
    serve(Peer())
