"""Language, slow and literal; imports nothing of craik."""

import math
from collections import Counter


def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def bleu(hypotheses, references, order=4, smoothing="exp", value=None, effective=False):
    """Corpus BLEU in [0, 1]; references: a list of lists for each hypothesis. As sacrebleu 2.6 computes it."""
    correct, total = [0.0] * order, [0.0] * order
    ours = theirs = 0
    for words, some in zip(hypotheses, references, strict=True):
        ours += len(words)
        theirs += min((abs(len(r) - len(words)), len(r)) for r in some)[1]
        for n in range(1, order + 1):
            counts = ngrams(words, n)
            most = Counter()
            for r in some:
                most |= ngrams(r, n)
            correct[n - 1] += sum(min(c, most[g]) for g, c in counts.items())
            total[n - 1] += sum(counts.values())
    if not any(correct):
        return 0.0
    brevity = 1.0 if ours >= theirs else math.exp(1 - theirs / ours)
    precisions, orders, halves = [0.0] * order, order, 1.0
    for n in range(1, order + 1):
        if smoothing == "add-k" and n > 1:
            correct[n - 1] += value if value is not None else 1
            total[n - 1] += value if value is not None else 1
        if total[n - 1] == 0:
            break
        if effective:
            orders = n
        if correct[n - 1] == 0:
            if smoothing == "exp":
                halves *= 2
                precisions[n - 1] = 1 / (halves * total[n - 1])
            elif smoothing == "floor":
                precisions[n - 1] = (value if value is not None else 0.1) / total[n - 1]
        else:
            precisions[n - 1] = correct[n - 1] / total[n - 1]
    logs = sum(math.log(p) if p > 0 else -math.inf for p in precisions[:orders])
    return brevity * math.exp(logs / orders)


def self_bleu(samples, **settings):
    return [bleu([s], [[o for j, o in enumerate(samples) if j != i]], **settings) for i, s in enumerate(samples)]
