"""Doors of `mechlearn_zoo.nn`: the blocks of worlds and of pictures."""

import torch
from torch import nn

from mechlearn_zoo.experiments.worlds.particle_language import attention
from mechlearn_zoo.nn import autoencoders, categorical, coordinates, graphs, mixtures, recurrent
from wrong_kinds import Door, g


def of_blocks() -> list[Door]:
    """Autoencoders, mixtures, recurrent layers, choices, attention, coordinates."""
    vae = autoencoders.ConvVAE(1, 10, 2, g(), (4, 4))
    x, z = torch.rand(2, 1, 10, 10, generator=g()), torch.zeros(2, 2)
    of_latents = {"mean": z, "log_var": z}
    three = {"log_weights": torch.zeros(2, 3, 4), "means": torch.zeros(2, 3, 4), "log_scales": torch.zeros(2, 3, 4)}
    layer, state = recurrent.lstm(3, 4, g()), {"shown": torch.zeros(2, 4), "kept": torch.zeros(2, 4)}
    sizes = {"inputs": 3, "outputs": 2, "kernel": 3, "generator": g(), "stride": 1, "padding": 1, "bias": True, "radius": False}
    rows = {"queries": torch.ones(2, 3, 4), "keys": torch.ones(2, 5, 4), "values": torch.ones(2, 5, 4)}
    logits = torch.zeros(2, 3)

    def loss(x, x_hat, mean, log_var, **weights):
        return autoencoders.vae_loss(x, x_hat, autoencoders.Encoded(mean, log_var), **weights)

    def step(layer, x, shown, kept):
        return recurrent.lstm_step(layer, x, recurrent.Recurrent(shown, kept))

    def quantile(log_weights, means, log_scales, uniform, normal):
        return mixtures.mixture_quantile(mixtures.Mixture(log_weights, means, log_scales), uniform, normal)

    head = mixtures.MixtureHead(3, 2, 4, g())
    convolution = coordinates.CoordConv2d(3, 2, 3, g())
    back = coordinates.CoordConvTranspose2d(3, 2, 3, g())
    images = torch.rand(2, 3, 5, 5, generator=g())
    unread = ("with NaN",)  # what flows through a layer is not looked at
    exact = ("doubles",)  # where there are no weights, another precision is right
    rank, width = ("an axis more", "an axis less"), "a column more"
    free = dict.fromkeys(three, (*exact, *unread))
    any_rank = dict.fromkeys(("queries", "keys", "words", "regions"), (*rank, *unread))
    logs = (*rank, width, *exact)
    mask = torch.ones(2, 3, 5, dtype=torch.bool)
    return [
        Door("ConvVAE", autoencoders.ConvVAE, {"channels": 1, "size": 64, "latent": 2, "generator": g(), "brightness": 0.5}),
        Door("ConvVAE.encode", vae.encode, {"x": x}),
        Door("ConvVAE.decode", vae.decode, {"z": z}, {"z": unread}),
        Door(
            "sample_latent",
            lambda mean, log_var, generator: autoencoders.sample_latent(autoencoders.Encoded(mean, log_var), generator),
            of_latents | {"generator": g()},
        ),
        Door(
            "vae_loss",
            loss,
            {"x": x, "x_hat": x, **of_latents, "free_nats": 0.5, "reconstruction": 1.0},
            {"x": exact, "x_hat": exact},
        ),
        Door("mixture_log_prob", mixtures.mixture_log_prob, three | {"y": torch.zeros(2, 3)}, free | {"y": (*exact, *unread)}),
        Door("tempered", mixtures.tempered, three | {"temperature": 0.5}, free),
        Door("mixture_sample", mixtures.mixture_sample, three | {"generator": g()}, dict.fromkeys(three, exact)),
        Door(
            "mixture_quantile",
            quantile,
            three | {"uniform": torch.zeros(2, 3), "normal": torch.zeros(2, 3)},
            free | dict.fromkeys(("uniform", "normal"), ("an axis less", *exact, *unread)),
        ),
        Door("MixtureHead", mixtures.MixtureHead, {"inputs": 3, "outputs": 2, "mixtures": 4, "generator": g()}),
        Door("MixtureHead()", head, {"x": torch.zeros(2, 3)}, {"x": (*rank, *unread)}),
        Door("lstm", recurrent.lstm, {"inputs": 3, "hidden": 4, "generator": g()}),
        Door("gru", recurrent.gru, {"inputs": 3, "hidden": 4, "generator": g()}),
        Door("lstm_step", step, {"layer": layer, "x": torch.zeros(2, 3), **state}, dict.fromkeys(("x", *state), unread)),
        Door(
            "gumbel_softmax",
            categorical.gumbel_softmax,
            {"logits": logits, "temperature": 0.5, "generator": g(), "hard": True},
            {"logits": logs},
        ),
        Door("gumbel_noise", categorical.gumbel_noise, {"logits": logits, "generator": g()}, {"logits": logs}),
        Door("sample_categorical", categorical.sample_categorical, {"logits": logits, "generator": g()}, {"logits": logs}),
        Door("chosen", categorical.chosen, {"logs": logits, "taken": torch.tensor([0, 2])}, {"logs": (width, *exact, *unread)}),
        Door("straight_through", categorical.straight_through, {"soft": logits}, {"soft": (*logs, *unread)}),
        Door(
            "used_symbols",
            categorical.used_symbols,
            {"symbols": torch.tensor([0, 2]), "count": 3, "least": 0.01},
            {"symbols": (*rank, width)},
        ),
        Door(
            "attend",
            attention.attend,
            rows | {"mask": mask},
            any_rank | {"mask": ("None", "an axis less"), "values": (*rank, width, *unread)},
        ),
        Door(
            "add_coordinates",
            coordinates.add_coordinates,
            {"x": images, "radius": True},
            {"x": ("a column more", "doubles", *unread)},
        ),
        Door("CoordConv2d", coordinates.CoordConv2d, sizes),
        Door("CoordConvTranspose2d", coordinates.CoordConvTranspose2d, sizes),
        Door("CoordConv2d()", convolution, {"x": images}, {"x": ("a column more", *unread)}),
        Door("CoordConvTranspose2d()", back, {"x": images}, {"x": ("a column more", *unread)}),
        Door("CoordConv2d.from_conv", coordinates.CoordConv2d.from_conv, {"conv": nn.Conv2d(3, 2, 3), "radius": False}),
    ]


def of_graphs() -> list[Door]:
    """Blocks on graphs."""
    widths = graphs.Widths(3, 2, 1)
    graph = {"nodes": torch.ones(2, 3, 2), "edges": torch.ones(2, 2, 3), "top": torch.ones(2, 1)}
    graph |= {"senders": torch.tensor([1, 2]), "receivers": torch.tensor([0, 0])}
    block, memory = graphs.GraphBlock(widths, widths, 4, g()), graphs.GraphGRU(widths, widths, g())

    def recur(before, **graph):
        state = graphs.GraphState(torch.zeros(2, 2, 3), before, torch.ones(2, 1))
        return memory(graphs.Graph(*graph.values()), state)

    def recur_over_time(before, **graph):
        state = graphs.GraphState(torch.zeros(2, 3), before, torch.ones(1))
        return memory.over_time(graphs.Graph(*graph.values()), state)

    unread = dict.fromkeys(("nodes", "edges", "top", "before"), ("with NaN",))
    return [
        Door("edges_to", graphs.edges_to, {"receivers": 1, "nodes": 3}),
        Door("GraphBlock", graphs.GraphBlock, {"inputs": widths, "outputs": widths, "hidden": 4, "generator": g()}),
        Door("GraphGRU", graphs.GraphGRU, {"inputs": widths, "outputs": widths, "generator": g()}),
        Door("GraphBlock()", lambda **parts: block(graphs.Graph(*parts.values())), graph, unread),
        Door("GraphGRU()", recur, graph | {"before": torch.ones(2, 3, 2)}, unread),
        Door("GraphGRU.over_time", recur_over_time, graph | {"before": torch.ones(3, 2)}, unread),
        Door(
            "edge_norms",
            graphs.edge_norms,
            {"edges": graph["edges"]},
            {"edges": ("an axis more", "an axis less", "a column more", "doubles", "with NaN")},
        ),
    ]
