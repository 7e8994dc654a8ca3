"""The papers' equations as plain Python loops over lists of numbers: slow, and easy to compare with the page."""

import cmath
import math
from collections.abc import Callable, Sequence

Vector = list[float]
Matrix = list[Vector]


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """Sum of products."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def times(matrix: Matrix, vector: Vector) -> Vector:
    """Matrix times vector."""
    return [dot(row, vector) for row in matrix]


def affine(matrix: Matrix, vector: Vector, bias: Vector) -> Vector:
    """W x + b."""
    return plus(times(matrix, vector), bias)


def plus(left: Vector, right: Vector) -> Vector:
    """Sum of two vectors."""
    return [a + b for a, b in zip(left, right, strict=True)]


def multiplied(left: Vector, right: Vector) -> Vector:
    """Product of two vectors, element by element."""
    return [a * b for a, b in zip(left, right, strict=True)]


def tanh(vector: Vector) -> Vector:
    """Hyperbolic tangent of each element."""
    return [math.tanh(x) for x in vector]


def sigmoid(vector: Vector) -> Vector:
    """Logistic function of each element."""
    return [1 / (1 + math.exp(-x)) for x in vector]


def softmax(numbers: Vector) -> Vector:
    """Exponentials divided by their sum."""
    exponentials = [math.exp(x) for x in numbers]
    return [x / sum(exponentials) for x in exponentials]


def attention(
    score: Callable[[Vector, Vector], float], query: Vector, keys: Matrix, values: Matrix, real: Sequence[bool]
) -> tuple[Vector, Vector]:
    """Weights over the real keys, and the average of their values."""
    seen = [index for index, is_real in enumerate(real) if is_real]
    weights = [0.0] * len(keys)
    context = [0.0] * len(values[0])
    if seen:
        for index, weight in zip(seen, softmax([score(query, keys[index]) for index in seen]), strict=True):
            weights[index] = weight
            for feature, value in enumerate(values[index]):
                context[feature] += weight * value
    return weights, context


def additive(query_matrix: Matrix, key_matrix: Matrix, energy: Vector) -> Callable[[Vector, Vector], float]:
    """v^T tanh(W_q s + W_k h): Bahdanau et al. 2015, appendix A.1.2."""
    return lambda s, h: dot(energy, tanh(plus(times(query_matrix, s), times(key_matrix, h))))


def concat(matrix: Matrix, energy: Vector) -> Callable[[Vector, Vector], float]:
    """v^T tanh(W [s; h]): Luong et al. 2015, section 3.1."""
    return lambda s, h: dot(energy, tanh(times(matrix, [*s, *h])))


def product(query_matrix: Matrix, key_matrix: Matrix, energy: Vector) -> Callable[[Vector, Vector], float]:
    """sum_d v_d tanh(W_k h)_d tanh(W_q s)_d: Shazeer et al. 2017, appendix G."""
    return lambda s, h: dot(energy, multiplied(tanh(times(query_matrix, s)), tanh(times(key_matrix, h))))


def general(matrix: Matrix) -> Callable[[Vector, Vector], float]:
    """s^T W h: Luong et al. 2015, section 3.1."""
    return lambda s, h: dot(s, times(matrix, h))


def scaled_general(matrix: Matrix) -> Callable[[Vector, Vector], float]:
    """s^T W h / sqrt(d), d the size of s: the general score, scaled like the dot product."""
    return lambda s, h: scaled_dot(s, times(matrix, h))


def scaled_dot(s: Vector, h: Vector) -> float:
    """s^T h / sqrt(d): Vaswani et al. 2017, equation 1."""
    return dot(s, h) / math.sqrt(len(s))


def cosine(strength: float) -> Callable[[Vector, Vector], float]:
    """beta cos(s, h): Graves et al. 2014, equations 5 and 6."""
    return lambda s, h: strength * dot(s, h) / (math.sqrt(dot(s, s)) * math.sqrt(dot(h, h)))


def gru(x: Vector, h: Vector, *, weights: dict[str, Matrix], biases: dict[str, Vector]) -> Vector:
    """One step of a GRU in torch's form: the reset gate multiplies W h + b."""
    gates = {}
    for gate in ("r", "z"):
        entering = affine(weights[f"i{gate}"], x, biases[f"i{gate}"])
        gates[gate] = sigmoid(plus(entering, affine(weights[f"h{gate}"], h, biases[f"h{gate}"])))
    recurrent = affine(weights["hn"], h, biases["hn"])
    candidate = tanh(plus(affine(weights["in"], x, biases["in"]), multiplied(gates["r"], recurrent)))
    return [(1 - z) * n + z * old for z, n, old in zip(gates["z"], candidate, h, strict=True)]


def lstm(
    x: Vector, h: Vector, c: Vector, *, weights: dict[str, Matrix], biases: dict[str, Vector]
) -> tuple[Vector, Vector]:
    """One step of an LSTM: gates i, f, o and candidate g."""
    before = {
        gate: plus(
            affine(weights[f"i{gate}"], x, biases[f"i{gate}"]), affine(weights[f"h{gate}"], h, biases[f"h{gate}"])
        )
        for gate in "ifgo"
    }
    kept = multiplied(sigmoid(before["f"]), c)
    cell = plus(kept, multiplied(sigmoid(before["i"]), tanh(before["g"])))
    return multiplied(sigmoid(before["o"]), tanh(cell)), cell


def sinusoid(position: int, feature: int, width: int) -> float:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same angle: Vaswani et al. 2017, 3.5."""
    pair = feature // 2
    angle = position / 10000 ** (2 * pair / width)
    return math.sin(angle) if feature % 2 == 0 else math.cos(angle)


def layer_norm(x: Vector, scale: Vector, bias: Vector, epsilon: float = 1e-5) -> Vector:
    """scale (x - mean) / sqrt(var + eps) + bias, over the features of one position."""
    mean = sum(x) / len(x)
    variance = sum((number - mean) ** 2 for number in x) / len(x)
    return [
        g * (number - mean) / math.sqrt(variance + epsilon) + b for g, number, b in zip(scale, x, bias, strict=True)
    ]


def feed_forward(x: Vector, inner: tuple[Matrix, Vector], outer: tuple[Matrix, Vector]) -> Vector:
    """max(0, x W_1 + b_1) W_2 + b_2: Vaswani et al. 2017, equation 2."""
    return affine(outer[0], [max(0.0, number) for number in affine(inner[0], x, inner[1])], outer[1])


def multi_head(
    queries: Matrix, keys: Matrix, *, heads: int, projections: dict[str, tuple[Matrix, Vector]], sees: list[list[bool]]
) -> Matrix:
    """Concat(head_1, ..., head_h) W_O, each head an attention over its own part of Q, K and V (section 3.2.2)."""
    q = [affine(projections["query"][0], x, projections["query"][1]) for x in queries]
    k = [affine(projections["key"][0], x, projections["key"][1]) for x in keys]
    v = [affine(projections["value"][0], x, projections["value"][1]) for x in keys]
    size = len(q[0]) // heads
    results = []
    for row, query in enumerate(q):
        joined: Vector = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            _, context = attention(
                scaled_dot, query[part], [key[part] for key in k], [value[part] for value in v], sees[row]
            )
            joined += context
        results.append(affine(projections["output"][0], joined, projections["output"][1]))
    return results


def smoothed_cross_entropy(logits: Vector, label: int, smoothing: float) -> float:
    """Cross-entropy against 1 - e + e/V for the label and e/V for the rest: Szegedy et al. 2016, section 7."""
    wanted = [smoothing / len(logits)] * len(logits)
    wanted[label] += 1 - smoothing
    return -sum(w * math.log(p) for w, p in zip(wanted, softmax(logits), strict=True))


def sparse_weights(numbers: Vector, alpha: float) -> Vector:
    """max(0, (alpha - 1) a - tau)^(1 / (alpha - 1)), with tau halved in until they sum to 1: Peters et al. 2019, equation 10.

    Sparsemax is alpha = 2.
    """
    scaled = [(alpha - 1) * x for x in numbers]
    low, high = max(scaled) - 1, max(scaled)
    for _ in range(200):
        middle = (low + high) / 2
        total = sum(max(0.0, x - middle) ** (1 / (alpha - 1)) for x in scaled)
        low, high = (middle, high) if total >= 1 else (low, middle)
    return [max(0.0, x - low) ** (1 / (alpha - 1)) for x in scaled]


def clipped(distance: int, reach: int) -> int:
    """clip(x, k) = max(-k, min(k, x)): Shaw et al. 2018, section 3.2."""
    return max(-reach, min(reach, distance))


def shaw(
    query: Vector, place: int, keys: Matrix, values: Matrix, *, key_vectors: Matrix, value_vectors: Matrix, reach: int
) -> tuple[Vector, Vector]:
    """Scores q (k + a_K) / sqrt(d) as weights, and the average of v + a_V: Shaw et al. 2018, equations 3 and 4."""
    rows = [clipped(j - place, reach) + reach for j in range(len(keys))]
    weights = softmax([scaled_dot(query, plus(key, key_vectors[r])) for key, r in zip(keys, rows, strict=True)])
    terms = [plus(value, value_vectors[r]) for value, r in zip(values, rows, strict=True)]
    return weights, [dot(weights, column) for column in zip(*terms, strict=True)]


def t5_bucket(distance: int, causal: bool, buckets: int = 32, farthest: int = 128) -> int:
    """The bucket of key position less query position: half of the buckets of a side exact, the rest by logarithm.

    The future has buckets of its own where it is seen, and is bucket 0 where it is not: Raffel et al. 2020, section 2.1.
    """
    side = buckets if causal else buckets // 2
    past = max(0, -distance) if causal else abs(distance)
    exact = side // 2
    if past >= exact:
        share = math.log(past / exact) / math.log(farthest / exact)
        past = min(exact + math.floor(share * (side - exact) + 1e-9), side - 1)
    return past if causal or distance <= 0 else past + side


def rotated(vector: Vector, place: int) -> Vector:
    """Each pair of features as one complex number times e^(i m theta): Su et al. 2021, equations 12 and 14."""
    turned: Vector = []
    for pair in range(len(vector) // 2):
        theta = 10000 ** (-2 * pair / len(vector))
        number = complex(vector[2 * pair], vector[2 * pair + 1]) * cmath.exp(1j * place * theta)
        turned += [number.real, number.imag]
    return turned


def kl_divergence(first: Vector, second: Vector) -> float:
    """KL(P || Q) = sum P log(P / Q), where P and Q are the softmax of these logits."""
    pairs = zip(softmax(first), softmax(second), strict=True)
    return sum(p * math.log(p / q) for p, q in pairs)
