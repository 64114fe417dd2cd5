import math

import pytest
import torch
from torch import Generator

from mechlearn_zoo.experiments.worlds.social_dilemmas.dilemmas import (
    CLEAN,
    MOVES,
    Cleanup,
    Harvest,
    State,
    begin,
    growth,
    layout,
    step,
    views,
)

HARVEST = Harvest(height=8, width=9, agents=3, view=2)
CLEANUP = Cleanup(height=6, width=9, agents=3, view=2, river=2, apples=0.3)
WORLDS = pytest.mark.parametrize("world", [HARVEST, CLEANUP], ids=["harvest", "cleanup"])


def is_wall(world, r, c):
    return r in (0, world.height - 1) or c in (0, world.width - 1)


def sites(world):
    """Cells where apples grow, and cells of the river, row by row."""
    grow, flow = [], []
    for r in range(world.height):
        for c in range(world.width):
            if is_wall(world, r, c):
                continue
            if isinstance(world, Cleanup):
                if c >= world.width - 1 - world.river:
                    grow.append((r, c))
                if c <= world.river:
                    flow.append((r, c))
            else:
                period = 2 * world.patch + 3
                middles = range(world.patch + 1, 200, period)
                # A patch's middle may lie behind the wall, and one cell of it inside.
                middles = [world.patch + 1 - period, *middles]
                if any(abs(r - i) + abs(c - j) <= world.patch for i in middles for j in middles):
                    grow.append((r, c))
    return grow, flow


def rate_of(world, cell, apples, waste, river):
    """The probability that an apple grows on a cell."""
    if isinstance(world, Cleanup):
        slope = (world.depleted - len(waste) / len(river)) / (world.depleted - world.restored)
        return world.apples * min(max(slope, 0.0), 1.0)
    near = sum(1 for other in apples if other != cell and math.dist(cell, other) <= world.radius)
    return world.regrowth[min(near, len(world.regrowth) - 1)]


def swept(world, places, actions, waste):
    """Waste that agents who clean reach."""
    found = set()
    for place, action in zip(places, actions, strict=True):
        for r, c in waste:
            if action == CLEAN and abs(r - place[0]) <= world.reach and abs(c - place[1]) <= world.reach:
                found.add((r, c))
    return found


def literal(world, places, apples, waste, actions, draws):
    """One world a step on, cell by cell: agents' places, sets of cells with apples and with waste, rewards, cells cleaned."""
    order, luck, spill = draws
    grow, flow = sites(world)
    places = list(places)
    for i in sorted(range(len(places)), key=lambda i: order[i]):
        move = MOVES[actions[i]] if actions[i] < len(MOVES) else (0, 0)
        there = (places[i][0] + move[0], places[i][1] + move[1])
        if not is_wall(world, *there) and there not in places:
            places[i] = there
    rewards = [float(place in apples) for place in places]
    apples = apples - set(places)
    gone = swept(world, places, actions, waste) if isinstance(world, Cleanup) else set()
    waste = waste - gone
    rates = [torch.tensor(rate_of(world, cell, apples, waste, flow)) for cell in grow]
    grown = {cell for cell, rate, one in zip(grow, rates, luck, strict=True) if one < rate and cell not in places}
    if isinstance(world, Cleanup) and spill[0] < world.waste and len(waste) / len(flow) < world.depleted:
        clean = [k for k in range(len(flow)) if flow[k] not in waste]
        waste = waste | {flow[min(clean, key=lambda k: spill[1 + k])]}
    return places, apples | grown, waste, rewards, len(gone)


def cells(world, mask):
    return {divmod(int(k), world.width) for k in mask.nonzero()}


@WORLDS
def test_a_step_is_what_a_loop_over_cells_makes_of_the_same_draws(world):
    made, again = Generator().manual_seed(0), Generator()
    state = begin(world, 5, made)
    still = layout(world)
    for _ in range(40):
        actions = torch.randint(world.actions, (5, world.agents), generator=made)
        again.set_state(made.get_state())
        found = step(world, state, actions, made)
        draws = [torch.rand(5, size, generator=again) for size in (world.agents, len(still.orchard))]
        draws.append(torch.rand(5, 1 + len(still.river), generator=again) if isinstance(world, Cleanup) else torch.zeros(5, 1))
        for b in range(5):
            places = [divmod(int(k), world.width) for k in state.places[b]]
            now = literal(
                world, places, cells(world, state.apples[b]), cells(world, state.waste[b]), actions[b].tolist(),
                [one[b] for one in draws],
            )  # fmt: skip
            assert [divmod(int(k), world.width) for k in found.state.places[b]] == now[0]
            assert cells(world, found.state.apples[b]) == now[1]
            assert cells(world, found.state.waste[b]) == now[2]
            assert found.rewards[b].tolist() == now[3]
            assert int(found.cleaned[b]) == now[4]
        state = found.state
    assert torch.equal(made.get_state(), again.get_state())


@WORLDS
def test_apples_are_eaten_or_stay_and_nobody_shares_a_cell(world):
    generator = Generator().manual_seed(1)
    state = begin(world, 20, generator)
    still, eaten, came = layout(world), 0.0, 0
    first = int(state.apples.sum())
    for _ in range(60):
        actions = torch.randint(world.actions, (20, world.agents), generator=generator)
        found = step(world, state, actions, generator)
        came += int((found.state.apples & ~state.apples).sum())
        assert not bool((state.apples & ~found.state.apples).sum(1).ne(found.rewards.sum(1)).any())
        eaten += float(found.rewards.sum())
        state = found.state
        assert all(len(set(row)) == world.agents for row in state.places.tolist())
        assert not bool(still.walls[state.places].any())
        assert not bool(state.apples.gather(1, state.places).any())
    assert eaten == first + came - int(state.apples.sum()) > 0
    elsewhere = torch.ones_like(still.walls).index_fill_(0, still.orchard, False)
    assert not bool(state.apples[:, elsewhere].any())
    assert isinstance(world, Cleanup) == bool(state.waste.any())


@WORLDS
def test_a_view_shows_what_lies_around_and_wall_beyond(world):
    state = begin(world, 4, Generator().manual_seed(2))
    for _ in range(10):
        state = step(world, state, torch.randint(world.actions, (4, 3)), Generator().manual_seed(3)).state
    seen, (_, flow) = views(world, state), sites(world)
    assert seen.shape == (4, 3, world.planes, 5, 5)
    for b in range(4):
        apples, waste = cells(world, state.apples[b]), cells(world, state.waste[b])
        agents = [divmod(int(k), world.width) for k in state.places[b]]
        for i, (row, column) in enumerate(agents):
            for y in range(5):
                for x in range(5):
                    r, c = row + y - 2, column + x - 2
                    outside = not (0 < r < world.height - 1 and 0 < c < world.width - 1)
                    wanted = [(r, c) in apples, (r, c) in agents, outside, (r, c) in waste, (r, c) in flow]
                    assert seen[b, i, :, y, x].tolist() == [float(one) for one in wanted[: world.planes]]


def test_what_is_taken_from_a_patch_to_the_last_apple_never_comes_again():
    world = Harvest(regrowth=(0.0, 1.0), radius=1.0)
    state = begin(world, 2, Generator().manual_seed(0))
    none = State(state.places, torch.zeros_like(state.apples), state.waste)
    assert not bool(growth(world, none.apples, none.waste).any())
    middle = layout(world).orchard[4:5]  # with one left, those beside it come
    one = none.apples.index_fill(1, middle, True)
    assert float(growth(world, one, none.waste).sum(1).max()) >= 1.0


def test_rates_of_cleanup_lie_on_a_line_and_worlds_begin_depleted():
    world = Cleanup()
    state = begin(world, 3, Generator().manual_seed(0))
    assert not bool(state.apples.any())
    river = layout(world).river
    assert state.waste.sum(1).tolist() == [math.ceil(0.4 * len(river))] * 3
    assert float(growth(world, state.apples, state.waste).max()) == 0.0
    half = torch.zeros_like(state.waste)
    half[:, river[: len(river) // 5]] = True
    assert float(growth(world, state.apples, half)[0, 0]) == pytest.approx(0.025, abs=1e-6)
    assert float(growth(world, state.apples, torch.zeros_like(half))[0, 0]) == pytest.approx(0.05)
    still = step(world, state, torch.zeros(3, 3, dtype=torch.long), Generator().manual_seed(0))
    assert torch.equal(still.state.waste, state.waste)  # a depleted river gets no more


def test_the_published_sizes_fit():
    for world in (Harvest(height=16, width=38, agents=5, view=7), Cleanup(height=25, width=18, agents=5, view=7, river=5)):
        state = begin(world, 2, Generator().manual_seed(0))
        assert views(world, state).shape == (2, 5, world.planes, 15, 15)
        assert len(layout(world).orchard) > 100


def test_refusals():
    with pytest.raises(ValueError, match="a dilemma is between agents"):
        Harvest(agents=1)
    with pytest.raises(ValueError, match=r"room for a patch inside the walls: 7\. Found 5"):
        Harvest(height=7, patch=3)
    with pytest.raises(ValueError, match=r"room for 9 agents inside the walls: 18\. Found 9"):
        Cleanup(height=5, width=5, agents=9)
    with pytest.raises(ValueError, match="room for river and orchard"):
        Cleanup(width=7)
    with pytest.raises(ValueError, match="`restored` should be below `depleted`"):
        Cleanup(restored=0.4)
    with pytest.raises(ValueError, match=r"`regrowth\[1\]` should lie in"):
        Harvest(regrowth=(0.0, 2.0))
    with pytest.raises(ValueError, match="`regrowth` should hold"):
        Harvest(regrowth=())
    with pytest.raises(TypeError):
        layout("harvest")
    with pytest.raises(ValueError, match="`count` should be at least 1"):
        begin(HARVEST, 0, Generator())
    state = begin(HARVEST, 2, Generator().manual_seed(0))
    with pytest.raises(ValueError, match=r"from 0 to 4.*Found 5 to 5\. Cleaning is Cleanup's alone"):
        step(HARVEST, state, torch.full((2, 3), 5), Generator())
    with pytest.raises(ValueError, match=r"of shape \(2, 3\). Found the shape \(2, 2\)"):
        step(HARVEST, state, torch.zeros(2, 2, dtype=torch.long), Generator())
    with pytest.raises(TypeError):
        step(HARVEST, state, torch.zeros(2, 3, dtype=torch.long), None)


@pytest.mark.usefixtures("as_installed")
def test_rates_are_a_tuple():
    with pytest.raises(TypeError, match=r"`regrowth` should be a tuple of probabilities.* Write tuple\(rates\)"):
        Harvest(regrowth=[0.0, 0.1])
