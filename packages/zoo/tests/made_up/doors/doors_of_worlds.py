"""Doors of `mechlearn_zoo.methods.worlds`: memories, dreams, evolution, plans, skips."""

import torch
from torch import nn

from mechlearn_zoo.experiments.worlds.dividing import relabelling
from mechlearn_zoo.experiments.worlds.take_cover.take_cover import TakeCover
from mechlearn_zoo.methods.worlds import acting, dividing, dreaming, infogan, world_model
from mechlearn_zoo.nn.autoencoders import ConvVAE
from mechlearn_zoo.nn.recurrent import Recurrent
from wrong_kinds import Door, g

UNREAD = ("with NaN",)
UNKNOWN = ("doubles",)
"""What a world or networks are made of, which these doors do not know: those refuse it when something was drawn."""


def of_memory() -> list[Door]:
    """M and its loss."""
    m = world_model.MixtureRNN(3, 2, 8, 4, True, g())
    sequence = {"z": torch.randn(2, 5, 3, generator=g()), "a": torch.zeros(2, 5, 2)}
    frame = {"z": torch.zeros(2, 3), "a": torch.zeros(2, 2)} | {"shown": torch.zeros(2, 8), "kept": torch.zeros(2, 8)}
    predicted = m(**sequence)

    def loss(means, ends, **given):
        said = predicted._replace(mixture=predicted.mixture._replace(means=means), ends=ends)
        return world_model.memory_loss(said, **given)

    vae = ConvVAE(1, 10, 2, g(), (4, 4))
    frames = torch.rand(2, 1, 10, 10, generator=g())
    sizes = {"latent": 3, "action": 2, "hidden": 8, "mixtures": 4, "ends": True, "generator": g()}
    losing = {"means": predicted.mixture.means.detach(), "ends": predicted.ends.detach(), "following": sequence["z"]}
    legal = dict.fromkeys(frame, UNREAD)
    return [
        Door("MixtureRNN", world_model.MixtureRNN, sizes),
        Door("MixtureRNN()", m, sequence | {"state": m.at_rest(2)}, {"state": ("None",)}),
        Door("MixtureRNN.step", lambda z, a, shown, kept: m.step(z, a, Recurrent(shown, kept)), frame, legal),
        Door("MixtureRNN.remember", lambda z, a, shown, kept: m.remember(z, a, Recurrent(shown, kept)), frame, legal),
        Door(
            "memory_loss",
            loss,
            losing | {"ended": torch.zeros(2, 5, dtype=torch.bool), "end_weight": 10.0},
            dict.fromkeys(losing, ("doubles",)),
        ),
        Door("energy_lost", world_model.energy_lost, {"vision": vae, "frames": frames}),
    ]


def of_dreams() -> list[Door]:
    """Dreams, and populations that act."""
    m = world_model.MixtureRNN(3, 2, 8, 4, True, g())
    starts = torch.randn(7, 3, generator=g())
    world = dreaming.DreamWorld(m, starts)
    state = world.start(2, 4, g())
    c = acting.LinearController(11, 2)
    candidates = torch.randn(2, c.parameters, generator=g())
    vae = ConvVAE(2, 20, 3, g(), (2, 2))
    watched = acting.Watched(TakeCover(), vae, world_model.MixtureRNN(3, 1, 8, 4, True, g()))
    seen = watched.start(2, 4, g())
    making = {"memory": m, "starts": starts, "temperature": 1.0, "done": "sample", "scale": torch.ones(3)}
    playing = {"controller": c, "candidates": candidates, "world": world, "episodes": 4, "horizon": 3, "generator": g()}
    draws = g()
    dream = dreaming.Dream(world, 2, 5, draws)
    return [
        Door("DreamWorld", dreaming.DreamWorld, making, {"scale": ("None",)}),
        Door("DreamWorld.start", world.start, {"population": 2, "episodes": 4, "generator": g()}),
        Door(
            "DreamWorld.step",
            lambda actions, generator: world.step(state, actions, generator),
            {"actions": torch.zeros(2, 4, 2), "generator": g()},
        ),
        Door(
            "Dream",
            dreaming.Dream,
            {"world": world, "dreams": 2, "horizon": 5, "generator": g(), "actions": "box"},
            {"horizon": ("None",)},
        ),
        Door("Dream.step", dream.step, {"actions": torch.zeros(2, 2)}, {"actions": ("doubles", "whole numbers")}, (draws,)),
        Door("Dream.reset", lambda seed: dream.reset(seed=seed), {"seed": 3}, {"seed": ("None",)}, (draws,)),
        Door("LinearController", acting.LinearController, {"inputs": 11, "actions": 2, "squash": "tanh"}),
        Door(
            "LinearController.act",
            c.act,
            {"candidates": candidates, "features": torch.zeros(2, 4, 11)},
            {"candidates": UNREAD, "features": UNREAD},
        ),
        Door("population_returns", acting.population_returns, playing, {"candidates": UNKNOWN}),
        Door(
            "Watched",
            acting.Watched,
            {"world": TakeCover(), "vision": vae, "memory": None, "scale": torch.ones(3)},
            {"scale": ("None",), "memory": ("None",)},
        ),
        Door(
            "Watched.step",
            lambda actions, generator: watched.step(seen, actions, generator),
            {"actions": torch.zeros(2, 4, 1), "generator": g()},
        ),
    ]


def of_plans() -> list[Door]:
    """Causal InfoGAN, divide and conquer, relabelling."""
    discriminator, table = nn.Linear(4, 1), torch.full((3, 3), 1 / 3)
    networks = infogan.CausalInfoGAN(
        nn.Linear(8, 4), discriminator, nn.Linear(2, 3), infogan.TransitionTable(3), infogan.OneHot(3)
    )
    gaussian, states = infogan.GaussianTransition(2, g()), torch.eye(3)
    problem = dividing.Planning(lambda s, t: 0.5, lambda s, t: dividing.Proposals([1], [1.0]))
    return [
        Door("OneHot", infogan.OneHot, {"states": 3}),
        Door("OneHot.sample", infogan.OneHot(3).sample, {"count": 2, "generator": g()}),
        Door("Uniform", infogan.Uniform, {"dimensions": 3}),
        Door("Uniform.sample", infogan.Uniform(3).sample, {"count": 2, "generator": g()}),
        Door("TransitionTable", infogan.TransitionTable, {"states": 3, "stay": 3.0, "temperature": 1.0}),
        Door("TransitionTable.sample", infogan.TransitionTable(3).sample, {"states": states, "generator": g()}),
        Door("GaussianTransition", infogan.GaussianTransition, {"dimensions": 2, "generator": g(), "hidden": 4}),
        Door("GaussianTransition.sample", gaussian.sample, {"states": torch.zeros(3, 2), "generator": g()}, {"states": UNREAD}),
        Door(
            "pair_losses",
            infogan.pair_losses,
            {"networks": networks, "real_pairs": torch.zeros(4, 2, 2), "generator": g(), "noise": 2, "jitter": 0.1},
            {"real_pairs": ("a column more", *UNKNOWN)},
        ),
        Door("waypoints", infogan.waypoints, {"table": table, "start": 0, "goal": 2, "least": 0.0}, {"table": ("doubles",)}),
        Door("interpolate", infogan.interpolate, {"a": torch.zeros(2), "b": torch.ones(2), "count": 3}),
        Door(
            "most_plausible",
            infogan.most_plausible,
            {"discriminator": discriminator, "stages": [torch.zeros(1, 2), torch.ones(3, 2)]},
        ),
        Door("Planning", dividing.Planning, {"low_level": min, "propose": min, "value": None}, {"value": ("None",)}),
        Door("Effort", dividing.Effort, {"budget": 5, "exploration": 1.0, "depth": 3, "order": "any", "patience": 3}),
        Door(
            "closure",
            dividing.closure,
            {"low_level": torch.rand(4, 4, generator=g())},
            {"low_level": ("an axis more", "doubles")},
        ),
        Door(
            "divide_and_conquer",
            dividing.divide_and_conquer,
            {"start": 0, "goal": 2, "problem": problem, "effort": dividing.Effort(5), "generator": g()},
        ),
        Door("hindsight", relabelling.hindsight, {"paths": [[0, 1, 2]], "split": 1}),
    ]
