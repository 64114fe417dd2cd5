"""A borrowed module is given back bit for bit: twelve kinds of module through the doors that borrow one."""

import copy
import functools
import pickle

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

import distill_models as models
import distill_oracles
from mechlearn import distill, functional, surfaces
from mechlearn.nn.stacks import Stack


class Chain(nn.Module):
    """(n, 6) to (n, 3) through whatever blocks (n, 5) to (n, 5)."""

    def __init__(self, *blocks):
        super().__init__()
        self.enter, self.blocks, self.leave = nn.Linear(6, 5), nn.ModuleList(blocks), nn.Linear(5, 3)

    def forward(self, x):
        h = torch.tanh(self.enter(x))
        for block in self.blocks:
            h = torch.tanh(block(h))
        return self.leave(h)


def shared_by_modules():
    block = nn.Linear(5, 5)
    return Chain(block, block)


def tied():
    chain = Chain(nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 5))
    chain.blocks[2].weight = chain.blocks[0].weight
    return chain


def shared_twice():
    """A parametrised module under three names, one of its parameters tied to another module's, and a frozen one."""
    block = weight_norm(nn.Linear(5, 5))
    chain = Chain(block, nn.Linear(5, 5), nn.Sequential(block, block))
    chain.blocks[1].bias = block.bias
    return chain.requires_grad_(True)


class Buffered(Chain):
    """Buffers that a pass writes into and assigns, one of them tied, and one that is None."""

    def __init__(self):
        super().__init__(nn.Linear(5, 5))
        self.register_buffer("written", torch.zeros(()))
        self.register_buffer("assigned", torch.zeros(()), persistent=False)
        self.register_buffer("nothing", None)
        self.blocks[0].register_buffer("same", self.written)

    def forward(self, x):
        self.written += 1
        self.assigned = self.assigned + 1
        return super().forward(x)


def hooked():
    """Hooks that note what passes, and one that makes a parameter's stand-in, as torch's old weight norm does."""
    chain = Chain(nn.Linear(5, 5))
    chain.seen = []
    chain.register_forward_hook(lambda module, inputs, output: module.seen.append(output))
    chain.leave.register_forward_pre_hook(lambda module, inputs: setattr(module, "stand_in", 2 * module.weight))
    return chain


class Modes(Chain):
    """Parts in several modes, and a pass that changes them."""

    def __init__(self):
        super().__init__(nn.Sequential(nn.Linear(5, 5), nn.Dropout(0.5)), nn.LayerNorm(5))
        self.eval()
        self.blocks[1].train()

    def forward(self, x):
        self.leave.train(not self.leave.training)
        return super().forward(x)


class Drawing(Chain):
    """A generator that each pass puts to its start and draws from."""

    def __init__(self):
        super().__init__(nn.Linear(5, 5))
        self.noise = torch.Generator().manual_seed(3)

    def forward(self, x):
        self.noise.manual_seed(7)
        return super().forward(x + torch.rand(6, generator=self.noise, dtype=x.dtype))


class Noting(Chain):
    """Attributes of every sort that a pass leaves something in."""

    def __init__(self):
        super().__init__(nn.Linear(5, 5))
        self.calls, self.history, self.by_name, self.ids = 0, [], {"first": 1}, {0}
        self.total = torch.zeros(3, dtype=torch.float64)
        self.gone = True

    def forward(self, x):
        output = super().forward(x)
        self.calls += 1
        self.history.append(output)
        self.by_name[f"call {self.calls}"] = output
        self.ids.add(self.calls)
        self.total += 1
        self.last = output
        self.__dict__.pop("gone", None)
        return output


class Recurrent(nn.Module):
    """Torch's own cells keep a flat list of their weights beside them."""

    def __init__(self):
        super().__init__()
        self.enter, self.cell, self.leave = nn.Linear(6, 5), nn.LSTM(5, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, x):
        return self.leave(self.cell(self.enter(x)[:, None])[0][:, -1])


class Clamping(Chain):
    """Parameters, one of them frozen, that a pass writes into, as torch's embeddings do with a largest norm."""

    def __init__(self):
        super().__init__(nn.Linear(5, 5), nn.Linear(5, 5))
        self.blocks[1].requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            for parameter in (self.blocks[0].weight, self.blocks[1].weight):
                parameter.clamp_(-0.1, 0.1)
        return super().forward(x)


class Growing(Chain):
    """A pass that registers a hook and a module, and turns the order of two others."""

    def forward(self, x):
        self.register_forward_pre_hook(lambda module, inputs: None)
        self.late = nn.Identity()
        self.enter = self._modules.pop("enter")
        return super().forward(x)


KINDS = {
    "plain": lambda: Chain(nn.Linear(5, 5)),
    "shared by modules": shared_by_modules,
    "tied": tied,
    "parametrised": lambda: Chain(weight_norm(nn.Linear(5, 5)), spectral_norm(nn.Linear(5, 5))).eval(),
    "shared twice": shared_twice,
    "buffers": Buffered,
    "hooks": hooked,
    "modes": Modes,
    "generators": Drawing,
    "attributes": Noting,
    "recurrent": Recurrent,
    "writes into parameters": Clamping,
    "grows": Growing,
}


def made(kind):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # of the buffers of spectral norm
        return models.filled(KINDS[kind](), 0)


def student():
    return models.filled(nn.Sequential(nn.Linear(6, 3)), 5)


def as_student(model):
    return models.lesson(model, models.teacher({"enter": (5,)}), ["enter"])


def as_teacher(model):
    return models.lesson(student(), model, ["0"])


def batches():
    return distill.Batches(models.randn(2, 3, 4, 6), models.randn(3, 3, 4, 6), models.labels(4, 3, 4))


def taught(lesson):
    _, validation = models.data()
    privileged = batches().privileged if isinstance(lesson.student, nn.Sequential) else models.randn(3, 3, 4, 4)
    return batches()._replace(privileged=privileged), validation


def numbers(found):
    return [found.validation_loss, *(found.gradients[name] for name in sorted(found.gradients))]


def environments():
    return [(models.randn(0, 8, 6), models.labels(1, 8), [0] * 4 + [1] * 4)]


def meta_gradient_of_student(model):
    return numbers(distill.meta_gradient(as_student(model), *taught(as_student(model)), distill.SGD(0.1)))


def meta_gradient_of_teacher(model):
    found = distill.meta_gradient(as_teacher(model), *taught(as_teacher(model)), distill.Adam(0.1), distill.Checkpoint(2))
    return numbers(found)


def adjoint(model):
    inner = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    return numbers(distill.meta_gradient(as_student(model), *taught(as_student(model)), inner, distill.Adjoint()))


def forecast(model):
    return [torch.tensor(distill.forecast_memory(as_student(model), *taught(as_student(model)), distill.SGD(0.1)))]


def teach(model):
    lesson = as_teacher(model)
    rows = distill.Examples(models.randn(2, 9, 6), models.randn(3, 9, 6), models.labels(4, 9))
    optimizer = torch.optim.SGD(lesson.student.parameters(), 0.1)
    distill.teach(lesson, rows, optimizer, steps=3, batch_size=3, generator=models.generator())
    return list(lesson.student.parameters())


def read(model):
    return [distill.read_teacher(as_teacher(model), models.randn(3, 4, 6)).used]


def audited(model):
    found = surfaces.audit(model, models.label_loss, environments())
    return [torch.tensor(found.losses), torch.tensor([pair.cosine for pair in found.pairs])]


def curved(model):
    landscape = surfaces.landscape_of_model(model, models.label_loss, environments())
    return [torch.tensor(landscape.loss(0)), landscape.product(1, torch.ones_like(landscape.point))]


def sliced(model):
    surface = surfaces.surface_of_model(model, models.label_loss, environments())
    direction = {name: torch.ones_like(tensor) for name, tensor in surface.parameters.items()}
    return [surfaces.line(surface.mean, surface.parameters, direction, torch.tensor([0.0, 1.0]), chunk=1)]


def stacked(model):
    stack = Stack([model])
    found = stack(models.randn(0, 1, 4, 6)).detach()
    copy.deepcopy(stack.member(0))
    return [found]


DOORS = {
    "meta-gradient, student": meta_gradient_of_student,
    "meta-gradient, teacher": meta_gradient_of_teacher,
    "meta-gradient, adjoint": adjoint,
    "forecast": forecast,
    "teach": teach,
    "read": read,
    "audit": audited,
    "landscape": curved,
    "surface": sliced,
    "stack": stacked,
}


DRAWS = ("meta-gradient, student", "meta-gradient, teacher", "meta-gradient, adjoint", "teach", "stack")
WRITES = ("meta-gradient, student", "audit", "landscape")
STACKED = ("parametrised", "buffers", "recurrent")

REFUSED = {
    *((door, "generators") for door in DRAWS),
    *((door, "writes into parameters") for door in WRITES),  # what autograd has kept was changed
    *(("stack", kind) for kind in STACKED),  # two with buffers, and one that torch does not vectorise
}


def snapshot(model):
    """Return all that a module is, down to bytes and identities, as one value that can be compared."""
    rows = []
    for name, layer in model.named_modules(remove_duplicate=False):
        rows.append((name, id(layer), type(layer)))
        rows += [(name, key, described(value)) for key, value in vars(layer).items()]
    return rows


def described(value):
    if isinstance(value, torch.Tensor):
        own = (id(value), type(value), value.dtype, value.requires_grad, value.is_leaf, id(value.grad))
        return own, pickle.dumps(value.detach().numpy())
    if isinstance(value, torch.Generator):
        return id(value), value.get_state().tolist()
    if isinstance(value, dict):
        return id(value), [(key, described(one)) for key, one in value.items()]
    if isinstance(value, list | tuple):
        return id(value), [described(one) for one in value]
    return (id(value), sorted(value)) if isinstance(value, set) else (type(value), id(value))


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch's, of vmap
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS)
def test_a_borrowed_module_is_given_back_bit_for_bit(door, kind):
    model = made(kind)
    next(model.parameters()).grad = torch.ones_like(next(model.parameters()))
    before = snapshot(model)
    if (door, kind) in REFUSED:
        # A door may refuse what it cannot use, in a sentence, and gives it back, too.
        with pytest.raises((ValueError, TypeError), match=r"should .*\. Found .*\. \w"):
            DOORS[door](model)
        assert snapshot(model) == before
        return
    first = DOORS[door](model)
    assert snapshot(model) == before
    copy.deepcopy(model)  # torch copies no tensor that a graph was left on
    assert all(torch.equal(one, other) for one, other in zip(first, DOORS[door](model), strict=True))


class Named(nn.Module):
    """A teacher whose output is one layer's targets."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, privileged):
        return {"0": self.network(privileged)}


def literal(student, hidden, teacher, data, update, monkeypatch):
    """The meta-gradient by one graph; torch's functional_call spoils a module under two names, so each call has a copy."""
    called = distill_oracles.functional_call
    monkeypatch.setattr(distill_oracles, "functional_call", lambda module, *given: called(copy.deepcopy(module), *given))
    losses = (lambda h, targets: (h[hidden] - targets[hidden]).square().mean(1)), models.label_loss
    rows = list(zip(*data[0], strict=True))
    gradients, loss, _ = distill_oracles.meta_gradient(student, [hidden], teacher, rows, data[1], update, 0.7, *losses)
    return [loss, *(gradients[name] for name in sorted(gradients))]


def meta_of_student(kind, monkeypatch, momentum=0.0):
    model = made(kind)
    teacher = distill_oracles.Copies(models.teacher({"enter": (5,)}).network, {"enter": (5,)}, gated=False)
    update = functools.partial(distill_oracles.sgd, lr=0.1, momentum=momentum)
    return literal(model, "enter", teacher, taught(as_student(model)), update, monkeypatch)


def meta_of_teacher(kind, monkeypatch):
    update = functools.partial(distill_oracles.adam, lr=0.1)
    model = made(kind)
    if isinstance(model, Clamping):  # as the first pass leaves it: torch cannot go back through what was written into
        with torch.no_grad():
            model(models.randn(0, 2, 6))
        model.__class__ = Chain
    return literal(student(), "0", Named(model), taught(as_teacher(made(kind))), update, monkeypatch)


def losses_by_environment(kind):
    """Of a model and its parameters, which a pass may put in another order."""
    ((x, y, ids),) = environments()
    model = made(kind)
    parameters = list(model.parameters())
    losses = models.label_loss(model(x), y)
    return parameters, [losses[torch.tensor(ids) == e].mean() for e in range(2)]


def gradients_of(loss, parameters, **options):
    found = torch.autograd.grad(loss, parameters, allow_unused=True, **options)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(found, parameters, strict=True)])


def audit_of(kind, _):
    parameters, losses = losses_by_environment(kind)
    one, other = (gradients_of(loss, parameters, retain_graph=True) for loss in losses)
    return [torch.stack(losses), torch.cosine_similarity(one, other, dim=0)[None]]


def curvature_of(kind, _):
    parameters, (first, second) = losses_by_environment(kind)
    return [first, gradients_of(gradients_of(second, parameters, create_graph=True).sum(), parameters)]


def slice_of(kind, _):
    found = []
    for at in (0.0, 1.0):
        model = made(kind)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(at if parameter.requires_grad else 0.0)
        ((x, y, _ids),) = environments()
        found.append(models.label_loss(model(x), y).mean())
    return [torch.stack(found)]


DEFINITIONS = {
    "meta-gradient, student": meta_of_student,
    "meta-gradient, teacher": meta_of_teacher,
    "meta-gradient, adjoint": functools.partial(meta_of_student, momentum=0.9),
    "audit": audit_of,
    "landscape": curvature_of,
    "surface": slice_of,
    "stack": lambda kind, _: [made(kind)(models.randn(0, 1, 4, 6)[0])[None]],
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DEFINITIONS)
def test_a_door_has_the_definitions_value(door, kind, monkeypatch):
    if (door, kind) in REFUSED:
        pytest.skip("refused, as the test above says")
    for one, other in zip(DOORS[door](made(kind)), DEFINITIONS[door](kind, monkeypatch), strict=True):
        torch.testing.assert_close(one.detach().double(), other.detach(), rtol=1e-6, atol=1e-7)


def test_the_student_of_one_block_twice_learns_as_the_loop_over_one_block():
    """The right value, of a module without a second name: the loop calls its block twice."""

    class Loop(Chain):
        def forward(self, x):
            return self.leave(torch.tanh(self.blocks[0](torch.tanh(self.blocks[0](torch.tanh(self.enter(x)))))))

    twice, loop = made("shared by modules"), models.filled(Loop(nn.Linear(5, 5)), 0)
    for found, wanted in zip(meta_gradient_of_student(twice), meta_gradient_of_student(loop), strict=True):
        assert torch.equal(found, wanted)
    for found, wanted in zip(curved(twice), curved(loop), strict=True):
        assert torch.allclose(found, wanted)


SHARING = ("shared by modules", "shared twice", "tied")


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("kind", SHARING)
def test_rounds_of_a_distillation_go_on_with_modules_under_several_names(kind):
    """The second round blamed the optimiser, whose parameters the student no longer had; a stack is its students one by one."""
    found = []
    for stacked in (None, False, True):
        students = [made(kind), models.filled(KINDS[kind](), 1)]
        lesson = as_student(students[0])
        rows = distill.Examples(models.randn(0, 40, 6), models.randn(1, 40, 4), models.labels(2, 40))
        given = rows, distill.split_rows(40, 0.3, models.generator(1)), distill.Unrolling(distill.SGD(0.1), 3, 6)
        meta = torch.optim.SGD(lesson.teacher.parameters(), 0.1)
        if stacked is None:
            optimizer = torch.optim.SGD(students[0].parameters(), 0.1)
            rounds = distill.Distillation(lesson, *given, optimizer, meta, models.generator())
        else:
            population = distill.Population(students, stacked=stacked)
            rounds = distill.PopulationDistillation(
                lesson, population, *given, lambda p: torch.optim.SGD(p, 0.1), meta, models.generator()
            )
        for _ in range(2):
            rounds.step(2)
        found.append([parameter for student in students for parameter in student.parameters()])
        assert all(type(parameter) is nn.Parameter for parameter in found[-1])
    for one, other in zip(found[1], found[2], strict=True):
        torch.testing.assert_close(one, other)


def test_what_stays_behind_a_call_that_fails():
    class Failing(Noting):
        def forward(self, x):
            super().forward(x)
            raise OSError

    model = models.filled(Failing(), 0)
    before = snapshot(model)
    for door in (audited, curved, meta_gradient_of_student, meta_gradient_of_teacher, read):
        with pytest.raises(OSError, match=r"^$"):
            door(model)
        assert snapshot(model) == before, door


def test_a_parts_loss_may_read_what_the_pass_has_noted():
    model = made("attributes")
    read = [(environments()[0][0], environments()[0][1], [0] * 4 + [1] * 4)]
    found = surfaces.audit(model, lambda output, y: models.label_loss(model.last, y), read)
    assert found.losses == surfaces.audit(model, models.label_loss, read).losses
    assert not hasattr(model, "last")


def test_buffers_that_a_pass_writes_into_are_the_same_for_every_pass():
    class Fading(Buffered):
        def forward(self, x):
            return super().forward(x) / self.written

    model = models.filled(Fading(), 0)
    landscape = surfaces.landscape_of_model(model, models.label_loss, environments())
    assert landscape.loss(0) == landscape.loss(0)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"nothing": torch.ones(1)}, "`tensors` should be named as in named_parameters"),
        ({"blocks.0.weight": torch.ones(5, 5), "blocks.1.weight": torch.ones(5, 5)}, "should have one value"),
        ({"enter.weight": torch.ones(5, 6)}, "Found none for 'enter.bias'"),
    ],
)
def test_calls_that_are_refused(given, sentence):
    model = made("shared by modules")
    before = snapshot(model)
    with pytest.raises(ValueError, match=sentence):
        functional.call(model, given, (models.randn(0, 2, 6),), whole=True)
    assert snapshot(model) == before


def test_a_tensor_is_given_by_any_of_its_names():
    model, weight = made("shared by modules"), models.randn(9, 5, 5)
    found = [
        functional.call(model, {name: weight}, (models.randn(0, 2, 6),)) for name in ("blocks.0.weight", "blocks.1.weight")
    ]
    assert torch.equal(*found)
    with torch.no_grad():
        model.blocks[0].weight.copy_(weight)
    assert torch.equal(found[0], model(models.randn(0, 2, 6)))


def test_a_scripted_module_is_refused():
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        scripted = torch.jit.script(nn.Linear(2, 2))
    with pytest.raises(TypeError, match="scripted"):
        functional.call(nn.Sequential(scripted), {}, (torch.ones(1, 2),))
