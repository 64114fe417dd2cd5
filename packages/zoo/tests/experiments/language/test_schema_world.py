import pytest
import torch

from mechlearn_zoo.experiments.language.winograd.schema_world import PARTS, SchemaWorld, made_names


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def goes(world, drawn, ids):
    """Whether the names go with their sentences' adjectives."""
    names = world.environments * world.names
    adjectives = drawn.ids[:, 6] - 5 - names - world.verbs
    return world.tables.sorts.flatten()[ids - 5] == world.tables.kinds[adjectives]


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_what_they_say_and_the_table_decides(part):
    world = SchemaWorld(seed=3, environments=4, names=6, verbs=5, adjectives=7, irregular=0.2)
    environments = torch.arange(2000) % 4
    drawn = world.draw(part, environments, seeded())
    meant, other = goes(world, drawn, drawn.meant), goes(world, drawn, drawn.other)
    if part == "associative":
        assert meant.all()
        assert not other.any()
    elif part == "opposed":
        assert other.all()
        assert not meant.any()
    else:
        assert torch.equal(meant, other)
        assert 0.4 < meant.float().mean() < 0.6
    assert (drawn.meant != drawn.other).all()
    assert torch.equal((drawn.meant - 5) // 6, environments)
    assert torch.equal((drawn.other - 5) // 6, environments)
    names = 4 * 6
    subject = world.tables.roles[drawn.ids[:, 1] - 5 - names, drawn.ids[:, 6] - 5 - names - 5]
    assert torch.equal(torch.where(subject, drawn.ids[:, 0], drawn.ids[:, 2]), drawn.meant)


def test_share_and_seeds():
    world = SchemaWorld(seed=3)
    drawn = world.draw("associative", torch.zeros(4000, dtype=torch.long), seeded(), 0.9)
    strong = goes(world, drawn, drawn.meant) & ~goes(world, drawn, drawn.other)
    assert 0.88 < strong.float().mean() < 0.92
    assert torch.equal(SchemaWorld(seed=3).tables.roles, world.tables.roles)
    assert not torch.equal(SchemaWorld(seed=4).tables.roles, world.tables.roles)
    share = world.tables.roles.float().mean()
    assert 0.3 < share < 0.7


def test_items_read_as_sentences():
    world = SchemaWorld(seed=0)
    for item in world.schemas("neutral", 20, seeded()):
        words = item.text.split()
        assert (words[0], words[2]) == item.candidates
        assert item.text[item.pronoun] == "it"
        assert item.text[item.hinge] == words[6]
        assert world.vocabulary.ids(words[:1])[0] >= 5
    assert len(set(made_names(4900))) == 4900


def test_bad_input():
    with pytest.raises(ValueError, match=r"`verbs` should be at most 16"):
        SchemaWorld(seed=0, verbs=17)
    with pytest.raises(ValueError, match="names"):
        SchemaWorld(seed=0, names=3)
    with pytest.raises(ValueError, match=r"Names should be no other words of the world. Found rude among 4900"):
        SchemaWorld(seed=0, environments=100, names=49, adjectives=32)
    with pytest.raises(ValueError, match="at most 4900"):
        made_names(4901)
    world = SchemaWorld(seed=0)
    with pytest.raises(ValueError, match=r"lie in \[0, 7\]"):
        world.draw("neutral", torch.tensor([8]), seeded())
    with pytest.raises(ValueError, match="part"):
        world.draw("easy", torch.tensor([0]), seeded())
