"""Networks put together at random against the definition: one `torch.autograd.grad` an environment, on the same graph.

    python packages/zoo/tests/soak/soak.py [cases] [first]

A component may differ only where an environment's gradient is rounding noise: below 1e-6 of its parameter's largest in float32,
1e-12 in float64, and 5e-2 under bfloat16's autocast. These are counted apart, and so are parameters whose gradients are
all that small beside the network's largest: in theory they are 0. How small float32 makes a 0 depends on the network's depth:
what differs there is looked up in float64, where such gradients are 1e-12 of the network's largest.
"""

import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mechlearn.agreement import Agreement, AndMask
from networks import Case

CALLS = 3
THRESHOLD = 0.6
ZERO = 1e-12
"""Of the network's largest gradient, in float64: what is below is 0 in theory."""


@dataclass
class Tally:
    """What a run found.

    Attributes:
        cases: networks so far.
        calls: steps.
        components: masks' components that were compared, by precision.
        apart: of these, by precision, those that differ where an environment's gradient is rounding noise beside the
            parameter's largest.
        vanishing: those that differ where all of a parameter's gradients are rounding noise beside the network's largest, in
            float64 if not in the case's own precision: they are 0 in theory, as a bias's before a normalisation.
        mismatches: (case, call, parameter, components) that differ elsewhere.
        uncomputed: cases that PyTorch itself cannot compute on this processor.
        refusals: by what was said.
        paths: parameters by path.
        reasons: parameters on the definition's path, by why.
    """

    cases: int = 0
    calls: int = 0
    components: Counter[str] = field(default_factory=Counter)
    apart: Counter[str] = field(default_factory=Counter)
    vanishing: int = 0
    mismatches: list[tuple[object, ...]] = field(default_factory=list)
    uncomputed: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def report(self) -> str:
        """Return it in words."""
        share = sum(self.refusals.values()) / max(1, self.calls)
        lines = [
            f"{self.cases} cases, {self.calls} calls, {dict(self.components)} components: {len(self.mismatches)} mismatches, "
            f"{dict(self.apart)} apart, {self.vanishing} of gradients that vanish in theory, refused {share:.2%}, "
            f"{self.uncomputed} not computed by PyTorch here",
            f"paths: {dict(self.paths)}",
            *(f"refused {count}: {what}" for what, count in self.refusals.most_common()),
            *(f"definition {count}: {what}" for what, count in self.reasons.most_common(25)),
            *(f"MISMATCH {what}" for what in self.mismatches[:20]),
        ]
        return "\n".join(lines)


def definition(losses: Tensor, ids: Tensor, parameters: list[Tensor]) -> list[Tensor]:
    """(E, *p) for each parameter: one backward pass for each environment's mean loss."""
    rows: list[list[Tensor]] = []
    for e in ids.unique():
        found = torch.autograd.grad(losses[ids == e].mean(), parameters, retain_graph=True, allow_unused=True)
        rows.append([torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)])
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def vanishes(number: int, call: int, name: str) -> bool:
    """Say whether a parameter's gradients are 0 in theory: in float64, the same call of the same network without autocast."""
    twin = Case(number)
    twin.dtype, twin.autocast = torch.float64, False
    twin.model.double()
    for _ in range(call + 1):
        losses, ids = twin.call()
    parameters = dict(twin.model.named_parameters())
    stacks = dict(zip(parameters, definition(losses, ids, list(parameters.values())), strict=True))
    largest = max(float(stack.abs().max()) for stack in stacks.values() if stack.numel())
    return float(stacks[name].abs().max()) <= ZERO * largest


def run(number: int, tally: Tally) -> None:
    """Try one case: three calls of one Agreement, environments grouped anew each time."""
    case = Case(number)
    agreement = Agreement(case.model, AndMask(THRESHOLD))
    noise = 5e-2 if case.autocast else 1e-6 if case.dtype == torch.float32 else 1e-12
    tally.cases += 1
    for call in range(CALLS):
        try:
            losses, ids = case.call()
        except RuntimeError as error:
            if "could not create a primitive" not in str(error):
                raise
            tally.uncomputed += 1  # an LSTM under autocast is in PyTorch what not every processor computes
            return
        parameters = dict(case.model.named_parameters())
        stacks = definition(losses, ids, list(parameters.values()))
        case.model.zero_grad()
        tally.calls += 1
        try:
            tally.reasons.update(row.reason for row in agreement.explain(losses, ids) if row.path == "per-environment")
            record = agreement.backward(losses, ids)
        except (ValueError, TypeError) as refusal:
            tally.refusals[str(refusal)[:80]] += 1
            continue
        tally.paths.update(record.paths.values())
        largest = max(float(stack.abs().max()) for stack in stacks if stack.numel())
        for (name, parameter), stack in zip(parameters.items(), stacks, strict=True):
            if parameter.grad is None:
                if stack.any():
                    tally.mismatches.append((number, call, name, "no gradient", case.kinds, case.loss))
                continue
            what = (number, call, name, record.paths[name], case.kinds, case.loss)
            compare(tally, what, parameter.grad, stack, (noise, noise * largest))


def compare(tally: Tally, what: tuple[object, ...], found: Tensor, stack: Tensor, noises: tuple[float, float]) -> None:
    """Compare one parameter's combined gradient with the AND-mask of the environments' gradients."""
    count, (noise, floor) = len(stack), noises
    mask = stack.sign().sum(0).abs() >= THRESHOLD * count - 1e-9
    expected = torch.where(mask, stack.sum(0) / count, 0)
    scale = float(stack.abs().max()) if stack.numel() else 0.0
    clear = (stack.abs() > noise * scale).all(0)
    close = torch.isclose(found, expected, rtol=max(1e-9, 100 * noise), atol=max(100 * noise, 1e-11) * scale)
    masked = (found != 0) == (expected != 0)
    # A mean may cancel to rounding noise where every environment's gradient is clear.
    off = ~close | (~masked & (expected.abs() > 10 * noise * scale))
    kind = f"noise below {noise:g}"
    tally.components[kind] += found.numel()
    if scale <= floor:
        tally.vanishing += int(off.sum())
        return
    wrong = int((off & clear).sum())
    number, call, name = what[:3]
    if wrong and found.dtype == torch.float32 and vanishes(number, call, name):
        tally.vanishing += int(off.sum())
        return
    tally.apart[kind] += int((off & ~clear).sum())
    if wrong:
        tally.mismatches.append((*what, wrong))


def main() -> None:
    """Run so many cases, and say what was found; exit with 1 for a mismatch."""
    cases, first = (int(word) for word in [*sys.argv[1:], *("10000", "0")[len(sys.argv) - 1 :]])
    tally, start = Tally(), time.time()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for number in range(first, first + cases):
        run(number, tally)
        if tally.cases % 250 == 0:
            print(f"{time.time() - start:.0f} s\n{tally.report()}", flush=True)
    print(f"{time.time() - start:.0f} s, cases {first} to {first + cases - 1}\n{tally.report()}")
    sys.exit(bool(tally.mismatches))


if __name__ == "__main__":
    main()
